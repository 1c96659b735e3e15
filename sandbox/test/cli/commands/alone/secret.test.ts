import { execFileSync } from 'node:child_process'
import { appendFileSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { describe, expect, test } from 'vitest'
import { emptyFolder, run, sandbox } from '../../../support/cli.js'

const A = '--to http://127.0.0.1:9/a --secret whsec_one'
const B = 'endpoints add http://127.0.0.1:9/b --secret'
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
    const [added] = await json(...B.split(' '), "it's $5")
    const { stdout } = await runHere('secret --no-color', { isTTY: true })
    expect(stdout.replaceAll(/we_\w+/g, 'we_')).toBe(
      `# we_ http://127.0.0.1:9/a\n${lineOf('whsec_one')}# we_ http://127.0.0.1:9/b\n${lineOf(`"it's $5"`)}`,
    )
    expect(await json('secret', String(added?.id))).toEqual([
      { secret: "it's $5", endpoints: [{ id: added?.id, url: 'http://127.0.0.1:9/b' }] },
    ])
    const ran = await runHere('secret')
    expect(ran).toMatchObject({ code: 2, stdout: '' })
    expect(ran.stderr).toContain(`Name the endpoint: tix-webhooks secret ENDPOINT, which is one of we_`)
    expect(ran.stderr).toContain(`${added?.id} http://127.0.0.1:9/b`)
    expect((await runHere(`secret ${added?.id}`)).stdout).toBe(lineOf(`"it's $5"`))
  })

  test.each<[string, string, number, RegExp]>([
    ['.env', 'whsec_one', 0, /^\.env has a TIX_SIGNING_SECRET already: it is kept\.\n$/],
    ['.env.local', 'whsec_one', 0, /^\.env\.local has a TIX_SIGNING_SECRET already: it is kept\.\n$/],
    [
      '.env',
      'whsec_two',
      1,
      /^\.env has .+ not the secret of http:\S+\/a in the sandbox at \S+, so your app will refuse its deliveries\. Nothing was printed/,
    ],
  ])('is not appended to %s, which has %s', async (name, secret, code, message) => {
    const { run: runHere, json, folder, url } = await sandbox(A)
    writeFileSync(join(folder, name), lineOf(secret))
    const [{ id } = {}] = await json('endpoints')
    for (const argument of ['', ` ${id}`]) {
      const { stderr, ...ran } = await runHere(`secret${argument}`)
      expect(ran).toMatchObject({ code, stdout: '' })
      expect(stderr).toMatch(message)
      expect(stderr).not.toContain('whsec_')
      if (code === 0) continue
      const [, advised = ''] = /: tix-webhooks (secret .+)\n$/.exec(stderr) ?? []
      expect(advised).toBe(`secret${argument} --sandbox ${url} --json`)
      const elsewhere = await run(advised, { cwd: emptyFolder(), env: { TIX_SANDBOX_URL: '' } })
      expect(JSON.parse(elsewhere.stdout)).toMatchObject({ secret: 'whsec_one' })
    }
    expect(await json('secret')).toMatchObject([{ secret: 'whsec_one' }])
    expect((await runHere('secret', { isTTY: true })).stdout).toBe(lineOf('whsec_one'))
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
    writeFileSync(join(cwd, '.env'), other.stdout)
    expect(await run('secret', { cwd, env })).toMatchObject({ code: 0, stdout: '' })
    for (const [argv, where] of [
      [`secret --sandbox ${url}`, emptyFolder()],
      ['secret', inner],
    ] as const) {
      expect(await run(argv, { cwd: where, env })).toMatchObject({
        code: 0,
        stdout: lineOf('whsec_one'),
        stderr: `This is about the sandbox at ${url}, which was started in ${folder}.\n`,
      })
    }
  })

  test.each([
    [
      ' --new we_x',
      2,
      /^--new takes no endpoint. To give one a new secret: tix-webhooks endpoints rotate we_x/,
    ],
    [' we_x', 2, /^There is no endpoint "we_x"/],
    ['', 1, /^The sandbox at \S+ has no endpoint yet\. Add one with: tix-webhooks endpoints add URL/],
  ])('is refused with "secret%s"', async (argv, code, message) => {
    const { run: runHere } = await sandbox()
    const ran = await runHere(`secret${argv}`)
    expect(ran).toMatchObject({ code, stdout: '' })
    expect(ran.stderr).toMatch(message)
  })
})

describe('secret without a sandbox', () => {
  test('appended to .env twice gives it one secret, and --new another one each time', async () => {
    const cwd = emptyFolder()
    const first = await run('secret', { cwd })
    expect(first).toMatchObject({ code: 0, stdout: expect.stringMatching(NEW), stderr: '' })
    appendFileSync(join(cwd, '.env'), first.stdout)
    expect(await run('secret', { cwd })).toMatchObject({
      code: 0,
      stdout: '',
      stderr: expect.stringMatching(/^\.env has a TIX_SIGNING_SECRET already: it is kept\./),
    })
    const env = { TIX_SIGNING_SECRET: 'whsec_env' }
    expect(await run('secret', { cwd, env })).toMatchObject({ code: 0, stdout: '' })
    const another = await run('secret --new', { cwd })
    expect(another).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(NEW),
      stderr: '.env has a TIX_SIGNING_SECRET already: put this in its place, and not below it.\n',
    })
    expect((await run('secret --new', { cwd })).stdout).not.toBe(another.stdout)
  })

  test.each([
    ['', NEW],
    ['TIX_SIGNING_SECRET=\n', NEW],
    ['# TIX_SIGNING_SECRET=x\n', NEW],
    ['PORT=3000', /^\nTIX_SIGNING_SECRET=whsec_\S+\n$/],
  ])('makes one if .env is %j', async (text, expected) => {
    const { stdout } = await run('secret', { cwd: folderWith({ '.env': text }) })
    expect(stdout).toMatch(expected)
    expect(parseEnv(`${text}${stdout}`).TIX_SIGNING_SECRET).toMatch(/^whsec_/)
  })
})

describe('.env of the folder', () => {
  const signed = async (cwd: string, env = {}) => (await run('sign --body x --t 1', { cwd, env })).stdout
  const signedWith = async (secret: string) => (await run(`sign --body x --t 1 --secret ${secret}`)).stdout
  const FILE = lineOf('whsec_file')
  const LOCAL = lineOf('whsec_local')

  test.each<[string, Record<string, string>]>([
    ['whsec_file', { '.env': FILE }],
    ['whsec_file', { '.env': 'TIX_SIGNING_SECRET="whsec_file"\r\n' }],
    ['whsec_file', { '.env': `TIX_SIGNING_SECRET=a\n${FILE}` }],
    ['whsec_local', { '.env': 'A=1\nTIX_SIGNING_SECRET=\n', '.env.local': LOCAL }],
    ['whsec_local', { '.env': FILE, '.env.local': LOCAL }],
  ])('gives the secret %s: %j', async (secret, files) => {
    const cwd = folderWith(files)
    expect(await signed(cwd)).toBe(await signedWith(secret))
    const env = { TIX_SIGNING_SECRET: 'whsec_env' }
    expect(await signed(cwd, env)).toBe(await signedWith('whsec_env'))
  })

  test('may be a link, but not a folder or a pipe', async () => {
    const linked = folderWith({ 'shared.env': lineOf('whsec_link') })
    symlinkSync('shared.env', join(linked, '.env'))
    expect(await signed(linked)).toBe(await signedWith('whsec_link'))
    const [folder, pipe] = [emptyFolder(), emptyFolder()]
    mkdirSync(join(folder, '.env'))
    execFileSync('mkfifo', [join(pipe, '.env')])
    for (const cwd of [folder, pipe]) {
      expect(await run('sign --body x --t 1', { cwd })).toMatchObject({ code: 2, stdout: '' })
    }
  })

  const CRLF = 'TIX_SIGNING_SECRET=whsec_file\r\n'
  const UTF16 = 'is UTF-16, at least in part, so neither Node nor dotenv can read it'
  const MARKED =
    'begins with a byte order mark, so node --env-file does not find its first variable. Save it as UTF-8 without one'
  test.each([
    ['made by Windows PowerShell', Buffer.from(`\ufeff${CRLF}`, 'utf16le'), UTF16],
    [
      'appended to by Windows PowerShell',
      Buffer.concat([Buffer.from('PORT=3000\r\n'), Buffer.from(CRLF, 'utf16le')]),
      UTF16,
    ],
    ['with a byte order mark', `\ufeff${CRLF}`, MARKED],
  ])('is refused: %s', async (_, bytes, message) => {
    for (const name of ['.env', '.env.local']) {
      const cwd = folderWith({ [name]: bytes })
      for (const argv of ['secret', 'sign --body x', 'sandbox --port 0']) {
        const { code, stdout, stderr } = await run(argv, { cwd })
        expect([code, stdout]).toEqual([2, ''])
        expect(stderr).toContain(`${name} ${message}`)
        if (message !== UTF16) continue
        expect(stderr).toContain(`(Get-Content ${name}) -replace "\\0" | Set-Content -Encoding ascii ${name}`)
      }
    }
  })

  test.each(['undefined', 'null', '$SECRET', 'whsec_', 'whsec_undefined'])(
    'is refused with a secret that a receiver refuses: %s',
    async (placeholder) => {
      const cwd = folderWith({ '.env': lineOf(placeholder) })
      const start = 'sandbox --port 0 --to http://127.0.0.1:9'
      for (const argv of ['secret', 'secret --json', 'sign --body x', start]) {
        const { code, stdout, stderr } = await run(argv, { cwd, signal: AbortSignal.timeout(2000) })
        expect([code, stdout]).toEqual([2, ''])
        expect(stderr).toMatch(
          /^The TIX_SIGNING_SECRET of \.env would be refused by your app: .+ is a placeholder.*To make one: tix-webhooks secret --new/s,
        )
      }
      expect(await run('secret --new', { cwd })).toMatchObject({ code: 0 })
    },
  )

  test('gives the sandbox its secret, which says so', async () => {
    const cwd = folderWith({ '.env': FILE })
    const { ready, json } = await sandbox('--to http://127.0.0.1:9', { cwd })
    expect(ready).toMatchObject({ endpoints: [{ secrets: ['whsec_file'] }] })
    expect(await json('secret')).toMatchObject([{ secret: 'whsec_file' }])
    expect(await startLines(cwd)).toContain(`  ${FILE}  This secret is from .env.\n`)
    expect(await startLines(emptyFolder())).toMatch(
      /This secret is new: your app needs it\. .+ secret >> \.env\n/,
    )
    expect(readFileSync(join(cwd, '.env'), 'utf8')).toBe(FILE)
  })
})

/** The lines that a sandbox prints when it starts. */
async function startLines(cwd: string): Promise<string> {
  const stopped = new AbortController()
  const { stdout } = await run('sandbox --port 0 --to http://127.0.0.1:9', {
    cwd,
    signal: stopped.signal,
    onOutput: (said) => {
      if (said.stdout.includes('Ctrl-C')) stopped.abort()
    },
  })
  return stdout
}
