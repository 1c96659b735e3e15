import { execFileSync } from 'node:child_process'
import { appendFileSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { describe, expect, test } from 'vitest'
import { run } from '../../../support/cli.js'
import { emptyFolder, sandbox } from '../../../support/cli-sandbox.js'

const to = (path: string): string[] => ['--to', `http://127.0.0.1:9/${path}`]

describe('secret', () => {
  test('is a line for .env, where all endpoints share one', async () => {
    const { run: runHere } = await sandbox([...to('a'), ...to('b'), '--secret', 'whsec_one'])
    expect(await runHere(['secret'])).toMatchObject({
      code: 0,
      stdout: 'TIX_SIGNING_SECRET=whsec_one\n',
      stderr: '',
    })
  })

  test('is printed with its endpoint if there are several, or for one endpoint only', async () => {
    const { run: runHere, json } = await sandbox([...to('a'), '--secret', 'whsec_one'])
    const [added] = await json('endpoints', 'add', 'http://127.0.0.1:9/b', '--secret', "it's $5")
    const { stdout } = await runHere(['secret', '--no-color'], { isTTY: true })
    expect(stdout.replaceAll(/we_\w+/g, 'we_')).toBe(
      [
        '# we_ http://127.0.0.1:9/a',
        'TIX_SIGNING_SECRET=whsec_one',
        '# we_ http://127.0.0.1:9/b',
        `TIX_SIGNING_SECRET="it's $5"`,
        '',
      ].join('\n'),
    )
    expect(await json('secret', String(added?.id))).toEqual([
      { secret: "it's $5", endpoints: [{ id: added?.id, url: 'http://127.0.0.1:9/b' }] },
    ])
  })

  test('is refused for a file if there are several, of which a reader of the file would see one', async () => {
    const { run: runHere, json } = await sandbox([...to('a'), '--secret', 'whsec_one'])
    const [added] = await json('endpoints', 'add', 'http://127.0.0.1:9/b', '--secret', 'whsec_two')
    const ran = await runHere(['secret'])
    expect(ran).toMatchObject({ code: 2, stdout: '' })
    expect(ran.stderr).toContain(`Name the endpoint: tix-webhooks secret ENDPOINT, which is one of we_`)
    expect(ran.stderr).toContain(`${added?.id} http://127.0.0.1:9/b`)
    expect((await runHere(['secret', String(added?.id)])).stdout).toBe('TIX_SIGNING_SECRET=whsec_two\n')
  })

  test.each<[string, string, string, number, RegExp]>([
    ['the same', '.env', 'whsec_one', 0, /^\.env has a TIX_SIGNING_SECRET already: it is kept\.\n$/],
    [
      'the same',
      '.env.local',
      'whsec_one',
      0,
      /^\.env\.local has a TIX_SIGNING_SECRET already: it is kept\.\n$/,
    ],
    [
      'another one',
      '.env',
      'whsec_two',
      1,
      /^\.env has .+ not the secret of http:\S+\/a in the sandbox at \S+, so your app will refuse its deliveries\. Nothing was printed/,
    ],
  ])('is no second line where the folder has %s in %s', async (_, name, secret, code, message) => {
    const { run: runHere, json, folder, url } = await sandbox([...to('a'), '--secret', 'whsec_one'])
    writeFileSync(join(folder, name), `TIX_SIGNING_SECRET=${secret}\n`)
    const ran = await runHere(['secret'])
    expect(ran).toMatchObject({ code, stdout: '' })
    expect(ran.stderr).toMatch(message)
    expect(ran.stderr).not.toContain('whsec_')
    const [{ id } = {}] = await json('endpoints')
    const ofEndpoint = await runHere(['secret', String(id)])
    expect(ofEndpoint).toMatchObject({ code, stdout: '' })
    if (code === 1) {
      for (const [{ stderr }, argument] of [
        [ran, ''],
        [ofEndpoint, `${id} `],
      ] as const) {
        const [, advised = ''] = /: tix-webhooks (secret .+)\n$/.exec(stderr) ?? []
        expect(advised).toBe(`secret ${argument}--sandbox ${url} --json`)
        const elsewhere = await run(advised.split(' '), { cwd: emptyFolder(), env: { TIX_SANDBOX_URL: '' } })
        expect(JSON.parse(elsewhere.stdout)).toMatchObject({ secret: 'whsec_one' })
      }
    }
    expect(await json('secret')).toMatchObject([{ secret: 'whsec_one' }])
    expect((await runHere(['secret'], { isTTY: true })).stdout).toBe('TIX_SIGNING_SECRET=whsec_one\n')
  })

  test('is that of another folder only if its sandbox is named, and then it says so', async () => {
    const { url, folder } = await sandbox([...to('a'), '--secret', 'whsec_one'])
    const [cwd, inner] = [emptyFolder(), join(folder, 'packages/app')]
    mkdirSync(inner, { recursive: true })
    const env = { TIX_SANDBOX_URL: '' }
    const elsewhere = `The sandbox at ${url} was started in another folder, ${folder}, so`
    writeFileSync(join(cwd, '.tix-webhooks-sandbox.json'), JSON.stringify({ url }))
    const other = await run(['secret'], { cwd, env })
    expect(other.stdout).toMatch(/^TIX_SIGNING_SECRET=whsec_[\w-]{32}\n$/)
    expect(other.stderr).toContain(elsewhere)
    writeFileSync(join(cwd, '.env'), other.stdout)
    expect(await run(['secret'], { cwd, env })).toMatchObject({ code: 0, stdout: '' })

    const about = `This is about the sandbox at ${url}, which was started in ${folder}.\n`
    for (const [argv, where] of [
      [['secret', '--sandbox', url], { cwd: emptyFolder(), env }],
      [['secret'], { cwd: inner, env }],
    ] as const) {
      expect(await run(argv, where)).toEqual({
        code: 0,
        stdout: 'TIX_SIGNING_SECRET=whsec_one\n',
        stderr: about,
        records: expect.anything(),
      })
    }
  })

  test('--new needs no sandbox, and prints a different one each time', async () => {
    const [one, other] = [await run(['secret', '--new']), await run(['secret', '--new'])]
    expect(one.stdout).toMatch(/^TIX_SIGNING_SECRET=whsec_[\w-]{32}\n$/)
    expect(one.stdout).not.toBe(other.stdout)
    expect(one.code).toBe(0)
  })

  test.each([
    [
      ['--new', 'we_x'],
      2,
      /^--new takes no endpoint. To give one a new secret: tix-webhooks endpoints rotate we_x/,
    ],
    [['we_x'], 2, /^There is no endpoint "we_x"/],
    [[], 1, /^The sandbox at \S+ has no endpoint yet\. Add one with: tix-webhooks endpoints add URL/],
  ])('refuses %j', async (argv, code, message) => {
    const { run: runHere } = await sandbox()
    const ran = await runHere(['secret', ...argv])
    expect(ran).toMatchObject({ code, stdout: '' })
    expect(ran.stderr).toMatch(message)
  })
})

describe('secret without a sandbox', () => {
  const NEW = /^TIX_SIGNING_SECRET=whsec_[\w-]{32}\n$/

  test('appended to .env twice gives it one secret', async () => {
    const cwd = emptyFolder()
    const first = await run(['secret'], { cwd })
    expect(first).toMatchObject({ code: 0, stderr: '' })
    expect(first.stdout).toMatch(NEW)
    appendFileSync(join(cwd, '.env'), first.stdout)
    const second = await run(['secret'], { cwd })
    expect(second).toMatchObject({ code: 0, stdout: '' })
    expect(second.stderr).toMatch(/^\.env has a TIX_SIGNING_SECRET already: it is kept\./)
    const env = { TIX_SIGNING_SECRET: 'whsec_env' }
    expect(await run(['secret'], { cwd, env })).toMatchObject({ code: 0, stdout: '' })
    const another = await run(['secret', '--new'], { cwd })
    expect(another.stdout).toMatch(NEW)
    expect(another.stderr).toBe(
      '.env has a TIX_SIGNING_SECRET already: put this in its place, and not below it.\n',
    )
  })

  test.each([
    ['nothing', undefined, NEW],
    ['an empty file', '', NEW],
    ['a secret that is empty', 'TIX_SIGNING_SECRET=\n', NEW],
    ['a comment', '# TIX_SIGNING_SECRET=x\n', NEW],
    ['a last line without an end', 'PORT=3000', /^\nTIX_SIGNING_SECRET=whsec_\S+\n$/],
  ])('makes one where .env holds %s', async (_, text, expected) => {
    const cwd = emptyFolder()
    if (text !== undefined) writeFileSync(join(cwd, '.env'), text)
    const { stdout } = await run(['secret'], { cwd })
    expect(stdout).toMatch(expected)
    expect(parseEnv(`${text ?? ''}${stdout}`)).toMatchObject({
      TIX_SIGNING_SECRET: expect.stringMatching(/^whsec_/),
    })
  })
})

describe('.env of the folder', () => {
  const signed = async (cwd: string) => run(['sign', '--body', 'x', '--t', '1'], { cwd })
  const expected = async (secret: string) =>
    (await run(['sign', '--body', 'x', '--t', '1', '--secret', secret])).stdout

  test.each([
    ['plain', 'TIX_SIGNING_SECRET=whsec_file\n', 'whsec_file'],
    ['in quotes', 'TIX_SIGNING_SECRET="whsec_file"\r\n', 'whsec_file'],
    ['given twice: the last one', 'TIX_SIGNING_SECRET=a\nTIX_SIGNING_SECRET=whsec_file\n', 'whsec_file'],
  ])('gives the secret: %s', async (_, text, secret) => {
    const cwd = emptyFolder()
    writeFileSync(join(cwd, '.env'), text)
    expect((await signed(cwd)).stdout).toBe(await expected(secret))
    const env = { TIX_SIGNING_SECRET: 'whsec_env' }
    expect((await run(['sign', '--body', 'x', '--t', '1'], { cwd, env })).stdout).toBe(
      await expected('whsec_env'),
    )
  })

  test('is followed where it is a link, and no such file where it is a folder or a pipe', async () => {
    const [linked, folder, pipe] = [emptyFolder(), emptyFolder(), emptyFolder()]
    writeFileSync(join(linked, 'shared.env'), 'TIX_SIGNING_SECRET=whsec_link\n')
    symlinkSync('shared.env', join(linked, '.env'))
    expect((await signed(linked)).stdout).toBe(await expected('whsec_link'))
    mkdirSync(join(folder, '.env'))
    execFileSync('mkfifo', [join(pipe, '.env')])
    for (const cwd of [folder, pipe]) expect(await signed(cwd)).toMatchObject({ code: 2, stdout: '' })
  })

  test.each([
    ['.env', { '.env': 'A=1\nTIX_SIGNING_SECRET=\n', '.env.local': 'TIX_SIGNING_SECRET=whsec_local\n' }],
    [
      '.env.local',
      { '.env': 'TIX_SIGNING_SECRET=whsec_file\n', '.env.local': 'TIX_SIGNING_SECRET=whsec_local\n' },
    ],
  ])('yields to .env.local, as in Next: %s', async (_, files) => {
    const cwd = emptyFolder()
    for (const [name, text] of Object.entries(files)) writeFileSync(join(cwd, name), text)
    expect((await signed(cwd)).stdout).toBe(await expected('whsec_local'))
  })

  const LINE = 'TIX_SIGNING_SECRET=whsec_file\r\n'
  test.each([
    ['made by it', Buffer.from(`\ufeff${LINE}`, 'utf16le')],
    ['appended to by it', Buffer.concat([Buffer.from('PORT=3000\r\n'), Buffer.from(LINE, 'utf16le')])],
  ])('is refused where it is UTF-16, %s: the >> of Windows PowerShell', async (_, bytes) => {
    for (const name of ['.env', '.env.local']) {
      const cwd = emptyFolder()
      writeFileSync(join(cwd, name), bytes)
      for (const argv of [['secret'], ['sign', '--body', 'x'], ['sandbox', '--port', '0']]) {
        const { code, stdout, stderr } = await run(argv, { cwd })
        expect([code, stdout]).toEqual([2, ''])
        expect(stderr).toContain(
          `${name} is UTF-16, at least in part, so neither Node nor dotenv can read it`,
        )
        expect(stderr).toContain(`(Get-Content ${name}) -replace "\\0" | Set-Content -Encoding ascii ${name}`)
      }
    }
  })

  test.each(['.env', '.env.local'])(
    'is refused where a byte order mark hides its first line: %s',
    async (name) => {
      const cwd = emptyFolder()
      writeFileSync(join(cwd, name), `\ufeff${LINE}`)
      for (const argv of [['secret'], ['sign', '--body', 'x'], ['sandbox', '--port', '0']]) {
        const { code, stdout, stderr } = await run(argv, { cwd })
        expect([code, stdout]).toEqual([2, ''])
        expect(stderr).toContain(
          `${name} begins with a byte order mark, so node --env-file does not find its first variable. Save it as UTF-8 without one`,
        )
      }
    },
  )

  test.each(['undefined', 'null', '$SECRET', 'whsec_', 'whsec_undefined'])(
    'is refused where it has a secret that a receiver refuses: %s',
    async (placeholder) => {
      const cwd = emptyFolder()
      writeFileSync(join(cwd, '.env'), `TIX_SIGNING_SECRET=${placeholder}\n`)
      const start = ['sandbox', '--port', '0', '--to', 'http://127.0.0.1:9']
      for (const argv of [['secret'], ['secret', '--json'], ['sign', '--body', 'x'], start]) {
        const { code, stdout, stderr } = await run(argv, { cwd, signal: AbortSignal.timeout(2000) })
        expect([code, stdout]).toEqual([2, ''])
        expect(stderr).toMatch(
          /^The TIX_SIGNING_SECRET of \.env would be refused by your app: .+ is a placeholder/,
        )
        expect(stderr).toContain('To make one: tix-webhooks secret --new')
      }
      expect((await run(['secret', '--new'], { cwd })).code).toBe(0)
    },
  )

  test('gives the sandbox its secret, which says so', async () => {
    const cwd = emptyFolder()
    writeFileSync(join(cwd, '.env'), 'TIX_SIGNING_SECRET=whsec_file\n')
    const { ready, json } = await sandbox(['--to', 'http://127.0.0.1:9'], { cwd })
    expect(ready).toMatchObject({ endpoints: [{ secrets: ['whsec_file'] }] })
    expect(await json('secret')).toMatchObject([{ secret: 'whsec_file' }])
    expect(await startLines(cwd)).toContain('  TIX_SIGNING_SECRET=whsec_file\n  This secret is from .env.\n')
    expect(await startLines(emptyFolder())).toMatch(
      /This secret is new: your app needs it\. .+ secret >> \.env\n/,
    )
    expect(readFileSync(join(cwd, '.env'), 'utf8')).toBe('TIX_SIGNING_SECRET=whsec_file\n')
  })
})

/** The lines that a sandbox prints when it starts. */
async function startLines(cwd: string): Promise<string> {
  const stopped = new AbortController()
  const { stdout } = await run(['sandbox', '--port', '0', '--to', 'http://127.0.0.1:9'], {
    cwd,
    signal: stopped.signal,
    onOutput: (said) => {
      if (said.stdout.includes('Ctrl-C')) stopped.abort()
    },
  })
  return stdout
}
