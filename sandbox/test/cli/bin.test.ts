/** @module-tag slow */
import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build } from 'esbuild'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { freePort } from '../../../test/support/free-port.js'
import { ROOT } from '../../../test/support/root.js'
import { emptyFolder, receiver, sandbox } from '../support/cli.js'

// Bundled to one file, as it is published: loading each module by itself takes seconds.
const folder = mkdtempSync(join(tmpdir(), 'tix-bin-'))
const BIN = join(folder, 'bin.mjs')

beforeAll(async () => {
  const entryPoints = [join(ROOT, 'sandbox/cli/bin.ts')]
  await build({ entryPoints, outfile: BIN, bundle: true, platform: 'node', format: 'esm', target: 'node20' })
})
afterAll(() => rmSync(folder, { recursive: true }))

interface Process {
  readonly child: ChildProcessWithoutNullStreams
  readonly said: { stdout: string; stderr: string }
  /** Resolves when the text is there. */
  until(text: string | RegExp): Promise<void>
  /** Its exit code, or the signal that ended it. */
  readonly ended: Promise<number | string | null>
}

/** The real command, as a process of its own. */
function start(argv: string, { cwd = emptyFolder(), env = {} } = {}): Process {
  const child = spawn(process.execPath, [BIN, ...argv.split(' ')], {
    cwd,
    env: { PATH: process.env.PATH, TIX_SANDBOX_URL: 'none', ...env },
  })
  const said = { stdout: '', stderr: '' }
  const looks = new Set<() => void>()
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      said[name] += text
      for (const look of looks) look()
    })
  }
  const ended = once(child, 'close').then(([code, signal]) => code ?? signal)
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await ended
  })
  const until = (text: string | RegExp): Promise<void> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        if (!(typeof text === 'string' ? said.stdout.includes(text) : text.test(said.stdout))) return
        looks.delete(look)
        resolve()
      }
      looks.add(look)
      look()
      void ended.then((code) => reject(new Error(`it ended with ${code}: ${said.stderr}`)))
    })
  return { child, said, until, ended }
}

describe('the command as a process', () => {
  test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
    'runs a sandbox until %s, ends with 0, and leaves nothing behind',
    async (signal) => {
      const cwd = emptyFolder()
      const port = await freePort()
      // Twice on the same port: a second start finds it free.
      for (const _time of signal === 'SIGINT' ? ['first', 'second'] : ['once']) {
        const { child, until, ended, said } = start(`sandbox --port ${port} --to http://127.0.0.1:9`, { cwd })
        await until('Stop it with Ctrl-C.')
        expect(existsSync(join(cwd, '.tix-webhooks-sandbox.json'))).toBe(true)
        child.kill(signal)
        expect(await ended).toBe(0)
        expect(said.stderr).toBe('')
        expect(readdirSync(cwd)).toEqual([])
      }
    },
  )

  test.each(['SIGINT', 'SIGHUP'] as const)('removes its temporary endpoint on %s', async (signal) => {
    const { url, json } = await sandbox()
    const { child, until, ended, said } = start('listen', { env: { TIX_SANDBOX_URL: url } })
    await until('Listening at')
    expect(await json('endpoints')).toHaveLength(1)
    await json('trigger', 'order.created', '--wait')
    await until('<-- [200]')
    expect(said.stdout).toMatch(/--> order\.created \[dlv_\w+\] verified attempt 1 signed \d+ s ago/)
    child.kill(signal)
    expect(await ended).toBe(0)
    expect(await json('endpoints')).toEqual([])
  })

  test('[N140] gives no id twice with --state, though it is killed before it can write what it did', async () => {
    const { url: to, arrivals } = await receiver()
    const cwd = emptyFolder()
    const orders: string[] = []
    for (const _time of ['first', 'second', 'third']) {
      const { child, until, ended, said } = start(`sandbox --port 0 --json --state state.json --to ${to}`, {
        cwd,
      })
      await until('"event":"ready"')
      const { url } = JSON.parse(said.stdout.split('\n')[0] ?? '')
      await fetch(`${url}/_sandbox/trigger`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{"kind":"order.created","repeat":3,"wait":true}',
      })
      child.kill('SIGKILL')
      expect(await ended).toBe('SIGKILL')
      orders.push(...arrivals.splice(0).map(({ body }) => JSON.parse(String(body)).data.order.id))
    }
    expect(new Set(orders).size).toBe(orders.length)
    expect(orders.length).toBeGreaterThanOrEqual(9)
  })

  test('is the only one with its --state: a second one ends with 2, and says who has the file, until the first is killed', async () => {
    const cwd = emptyFolder()
    const argv = 'sandbox --port 0 --json --state state.json --to http://127.0.0.1:9'
    const first = start(argv, { cwd })
    await first.until('"event":"ready"')
    const { url } = JSON.parse(first.said.stdout.split('\n')[0] ?? '')
    const second = start(argv, { cwd })
    expect(await second.ended).toBe(2)
    expect(second.said.stderr).toContain(
      `is in use by another sandbox at ${url} (process ${first.child.pid}): stop that one first`,
    )
    first.child.kill('SIGKILL')
    expect(await first.ended).toBe('SIGKILL')
    const third = start(argv, { cwd })
    await third.until('"event":"ready"')
    third.child.kill('SIGTERM')
    expect(await third.ended).toBe(0)
    expect(readdirSync(cwd)).toEqual(['state.json'])
  })

  test('appends a secret to .env once, however often it is asked to', async () => {
    const cwd = emptyFolder()
    const append = (argv: string) =>
      spawnSync('sh', ['-c', `"${process.execPath}" "${BIN}" ${argv} >> .env`], {
        cwd,
        encoding: 'utf8',
        env: { PATH: process.env.PATH, TIX_SANDBOX_URL: 'none' },
      })
    expect(append('secret')).toMatchObject({ status: 0, stderr: '' })
    const text = readFileSync(join(cwd, '.env'), 'utf8')
    expect(text).toMatch(/^TIX_SIGNING_SECRET=whsec_\S+\n$/)
    expect(append('secret').status).toBe(0)
    const { status, stderr } = append('secret --new')
    expect(status).toBe(2)
    expect(stderr).toContain('.env has a TIX_SIGNING_SECRET already: a second one would hide it')
    expect(readFileSync(join(cwd, '.env'), 'utf8')).toBe(text)
  })

  test('ends without an error when the reader of its output closes the pipe', async () => {
    const { url: to } = await receiver()
    const { url, json } = await sandbox(`--to ${to}`)
    await json('trigger', 'order.created', '--repeat', '50', '--wait')
    const { child, ended, said } = start('deliveries --json --limit 50', {
      env: { TIX_SANDBOX_URL: url },
    })
    child.stdout.destroy()
    expect(await ended).toBe(0)
    expect(said.stderr).toBe('')
  })

  test('does not report a failing receiver as passed when its output is closed', async () => {
    const { url } = await receiver()
    const { child, until, ended, said } = start(`check ${url} --secret s --json`)
    await until('"passed":')
    child.stdout.destroy()
    expect(await ended).not.toBe(0)
    expect(said.stderr).toBe('')
  })

  describe.runIf(existsSync('/dev/full'))('with an output on a full disk', () => {
    test.each([1, 2])('ends with 1 and says so on the other one: %i', async (full) => {
      const cwd = emptyFolder()
      // It warns on stderr, as it lets others in, before it says anything on stdout.
      const WARNED = ['--host', '0.0.0.0', '--allow-host', 'here']
      const device = openSync('/dev/full', 'w')
      onTestFinished(() => closeSync(device))
      const child = spawn(
        process.execPath,
        [BIN, 'sandbox', '--port', '0', '--state', 'state.json', ...WARNED],
        {
          cwd,
          env: { PATH: process.env.PATH },
          stdio: ['ignore', full === 1 ? device : 'pipe', full === 2 ? device : 'pipe'],
        },
      )
      onTestFinished(() => void child.kill('SIGKILL'))
      let said = ''
      const other = (full === 1 ? child.stderr : child.stdout)?.setEncoding('utf8')
      other?.on('data', (text: string) => {
        said += text
      })
      expect(await once(child, 'close')).toEqual([1, null])
      expect(said.match(/^The output cannot be written: ENOSPC.*$/gm)).toHaveLength(1)
      expect(said).not.toContain('    at ')
      expect(readdirSync(cwd)).toEqual(['state.json'])
    })
  })

  test('reads the standard input, and a file of its folder', async () => {
    const cwd = emptyFolder()
    writeFileSync(join(cwd, 'body.json'), '{}')
    const piped = start('sign --secret s --t 1')
    piped.child.stdin.end('{}')
    const fromFile = start('sign --secret s --t 1 --body @body.json', { cwd })
    expect(await piped.ended).toBe(0)
    expect(await fromFile.ended).toBe(0)
    expect(piped.said.stdout).toMatch(/^t=1,v1=\w{64}\n$/)
    expect(fromFile.said.stdout).toBe(piped.said.stdout)
  })

  test('waits for no more input after Ctrl-C', async () => {
    const { child, ended, said } = start('sign --secret s')
    // More than a pipe holds: when it is taken, the command has begun to read.
    if (!child.stdin.write('x'.repeat(1_000_000))) await once(child.stdin, 'drain')
    child.kill('SIGINT')
    expect(await ended).toBe(130)
    expect(said).toEqual({ stdout: '', stderr: '' })
  })
})
