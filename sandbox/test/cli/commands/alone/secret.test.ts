import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { describe, expect, test } from 'vitest'
import { begin, emptyFolder, run, sandbox } from '../../../support/cli.js'

const A = '--to http://127.0.0.1:9/a --secret whsec_one'
const NEW = /^TIX_SIGNING_SECRET=whsec_[\w-]{32}\n$/
const lineOf = (secret: string): string => `TIX_SIGNING_SECRET=${secret}\n`

/** A folder with these files. */
function folderWith(files: Readonly<Record<string, string | Uint8Array>>): string {
  const folder = emptyFolder()
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content)
  return folder
}

describe('the secret of a running sandbox', () => {
  test('is a line for .env, if all endpoints share one', async () => {
    const { run: runHere } = await sandbox(`${A} --to http://127.0.0.1:9/b`)
    expect(await runHere('secret')).toMatchObject({ code: 0, stdout: lineOf('whsec_one'), stderr: '' })
  })

  test('is printed with its endpoint if there are several, but not to a file, which has room for one', async () => {
    const { run: runHere, json } = await sandbox(A)
    const [added] = await json('endpoints', 'add', 'http://127.0.0.1:9/b', '--secret', "it's $5")
    const { stdout } = await runHere('secret --no-color', { isTTY: true })
    expect(stdout.replaceAll(/we_\w+/g, 'we_')).toBe(
      `# we_ http://127.0.0.1:9/a\n${lineOf('whsec_one')}# we_ http://127.0.0.1:9/b\n${lineOf(`"it's $5"`)}`,
    )
    const ran = await runHere('secret')
    expect(ran).toMatchObject({ code: 2, stdout: '' })
    expect(ran.stderr).toContain(`Name the endpoint: tix-webhooks secret ENDPOINT, which is one of we_`)
    expect(ran.stderr).toContain(`${added?.id} http://127.0.0.1:9/b`)
    expect((await runHere(`secret ${added?.id}`)).stdout).toBe(lineOf(`"it's $5"`))
  })

  test.each(['.env', '.env.local'])('is not appended to %s, which has it', async (name) => {
    const { run: runHere, json, folder } = await sandbox(A)
    writeFileSync(join(folder, name), lineOf('whsec_one'))
    expect(await runHere('secret')).toMatchObject({
      code: 0,
      stdout: '',
      stderr: `${name} has a TIX_SIGNING_SECRET already: it is kept.\n`,
    })
    expect(await json('secret')).toMatchObject([{ secret: 'whsec_one' }])
    expect((await runHere('secret', { isTTY: true })).stdout).toBe(lineOf('whsec_one'))
  })

  test('is not appended to .env, which has another one, and the way to see it works from everywhere', async () => {
    const { run: runHere, json, folder, url } = await sandbox(A)
    writeFileSync(join(folder, '.env'), lineOf('whsec_two'))
    const [{ id } = {}] = await json('endpoints')
    for (const argument of ['', ` ${id}`]) {
      const { code, stdout, stderr } = await runHere(`secret${argument}`)
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
      expect(stderr).toMatch(
        /^\.env has .+ not the secret of http:\S+\/a in the sandbox at \S+, so your app will refuse its deliveries\. Nothing was printed/,
      )
      expect(stderr).not.toContain('whsec_')
      const [, advised = ''] = /: tix-webhooks (secret .+)\n$/.exec(stderr) ?? []
      expect(advised).toBe(`secret${argument} --sandbox ${url} --json`)
      const elsewhere = await run(advised, { cwd: emptyFolder(), env: { TIX_SANDBOX_URL: '' } })
      expect(JSON.parse(elsewhere.stdout)).toMatchObject({ secret: 'whsec_one' })
    }
  })

  test('is that of another folder only if its sandbox is named, and then it says so', async () => {
    const { url, folder } = await sandbox(A)
    const cwd = folderWith({ '.tix-webhooks-sandbox.json': JSON.stringify({ url }) })
    const inner = join(folder, 'packages/app')
    mkdirSync(inner, { recursive: true })
    const env = { TIX_SANDBOX_URL: '' }
    const other = await run('secret', { cwd, env })
    expect(other.stdout).toMatch(NEW)
    expect(other.stderr).toContain(`The sandbox at ${url} was started in another folder, ${folder}, so`)
    for (const [argv, where] of [
      [`secret --sandbox ${url}`, cwd],
      ['secret', inner],
    ] as const) {
      expect(await run(argv, { cwd: where, env })).toMatchObject({
        code: 0,
        stdout: lineOf('whsec_one'),
        stderr: `This is about the sandbox at ${url}, which was started in ${folder}.\n`,
      })
    }
  })

  test('is none if it has no endpoint yet', async () => {
    const { run: runHere } = await sandbox()
    const ran = await runHere('secret')
    expect(ran).toMatchObject({ code: 1, stdout: '' })
    expect(ran.stderr).toMatch(/^The sandbox at \S+ has no endpoint yet\. Add one with: .+ endpoints add URL/)
  })
})

describe('secret without a sandbox', () => {
  test.each([
    ['TIX_SIGNING_SECRET=\n', NEW],
    ['PORT=3000', /^\nTIX_SIGNING_SECRET=whsec_\S+\n$/],
  ])('is made if .env is %j', async (text, expected) => {
    const { stdout } = await run('secret', { cwd: folderWith({ '.env': text }) })
    expect(stdout).toMatch(expected)
    expect(parseEnv(`${text}${stdout}`).TIX_SIGNING_SECRET).toMatch(/^whsec_/)
  })

  test('is kept if .env has one, and --new is another one each time, which says where to put it', async () => {
    const cwd = folderWith({ '.env': lineOf('whsec_file') })
    const kept = { code: 0, stdout: '' }
    expect(await run('secret', { cwd })).toMatchObject(kept)
    expect(await run('secret', { cwd, env: { TIX_SIGNING_SECRET: 'whsec_env' } })).toMatchObject(kept)
    const [one, another] = [await run('secret --new', { cwd }), await run('secret --new', { cwd })]
    expect(one).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(NEW),
      stderr: '.env has a TIX_SIGNING_SECRET already: put this in its place, and not below it.\n',
    })
    expect(another.stdout).not.toBe(one.stdout)
  })
})

describe('.env of the folder', () => {
  const signed = async (cwd: string, env = {}) => (await run('sign --body x --t 1', { cwd, env })).stdout
  const signedWith = async (secret: string) => (await run(`sign --body x --t 1 --secret ${secret}`)).stdout
  const FILE = lineOf('whsec_file')

  test.each<[string, Record<string, string>]>([
    ['whsec_file', { '.env': 'TIX_SIGNING_SECRET="whsec_file"\r\n' }],
    ['whsec_file', { '.env': `TIX_SIGNING_SECRET=a\n${FILE}` }],
    ['whsec_file', { '.env': FILE, '.env.local': 'A=1\nTIX_SIGNING_SECRET=\n' }],
    ['whsec_local', { '.env': FILE, '.env.local': lineOf('whsec_local') }],
  ])('gives the secret %s: %j', async (secret, files) => {
    const cwd = folderWith(files)
    expect(await signed(cwd)).toBe(await signedWith(secret))
    expect(await signed(cwd, { TIX_SIGNING_SECRET: 'whsec_env' })).toBe(await signedWith('whsec_env'))
  })

  test('may be a link, but not a folder or a pipe', async () => {
    const linked = folderWith({ 'shared.env': FILE })
    symlinkSync('shared.env', join(linked, '.env'))
    expect(await signed(linked)).toBe(await signedWith('whsec_file'))
    const [folder, pipe] = [emptyFolder(), emptyFolder()]
    mkdirSync(join(folder, '.env'))
    execFileSync('mkfifo', [join(pipe, '.env')])
    for (const cwd of [folder, pipe]) {
      expect(await run('sign --body x --t 1', { cwd })).toMatchObject({ code: 2, stdout: '' })
    }
  })

  const UTF16 = /^\.env is UTF-16, at least in part, .+ -replace "\\0" \| Set-Content -Encoding ascii \.env$/m
  const MARKED = /^\.env begins with a byte order mark, so node --env-file does not find its first variable/
  const PLACEHOLDER =
    /^The TIX_SIGNING_SECRET of \.env would be refused by your app: .+ is a placeholder.*To make one: tix-webhooks secret --new/s
  test.each([
    ['of Windows PowerShell', Buffer.from(`\ufeff${FILE}`, 'utf16le'), UTF16],
    ['with a line of it', Buffer.concat([Buffer.from('A=1\r\n'), Buffer.from(FILE, 'utf16le')]), UTF16],
    ['with a byte order mark', `\ufeff${FILE}`, MARKED],
    ['with a placeholder', lineOf('$SECRET'), PLACEHOLDER],
    ['with the beginning of a secret', lineOf('whsec_'), PLACEHOLDER],
  ])('is refused: %s', async (_, text, message) => {
    const cwd = folderWith({ '.env': text })
    for (const argv of ['secret', 'sign --body x', 'sandbox --port 0 --to http://127.0.0.1:9']) {
      const { code, stdout, stderr } = await run(argv, { cwd })
      expect([code, stdout]).toEqual([2, ''])
      expect(stderr).toMatch(message)
    }
    expect((await run('secret --new', { cwd })).code).toBe(message === PLACEHOLDER ? 0 : 2)
  })

  test('gives the sandbox its secret, which says so', async () => {
    const cwd = folderWith({ '.env': FILE })
    const start = async (folder: string) => {
      const session = begin('sandbox --port 0 --to http://127.0.0.1:9', { cwd: folder, asText: true })
      await session.printed(/API +(\S+)/)
      return session.stop()
    }
    expect((await start(cwd)).stdout).toContain(`  ${FILE}  This secret is from .env.\n`)
    expect((await start(emptyFolder())).stdout).toMatch(
      /This secret is new: your app needs it\. .+ secret >> \.env\n/,
    )
    expect(readFileSync(join(cwd, '.env'), 'utf8')).toBe(FILE)
  })
})
