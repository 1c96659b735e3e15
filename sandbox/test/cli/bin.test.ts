/** @module-tag slow */
import { type StdioOptions, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build } from 'esbuild'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { ROOT } from '../../../test/support/root.js'
import { emptyFolder, receiver, run, sandbox } from '../support/cli.js'

// Bundled to one file, as it is published: loading each module by itself takes seconds.
const folder = mkdtempSync(join(tmpdir(), 'tix-bin-'))
const BIN = join(folder, 'bin.mjs')

beforeAll(async () => {
  const entryPoints = [join(ROOT, 'sandbox/cli/bin.ts')]
  await build({ entryPoints, outfile: BIN, bundle: true, platform: 'node', format: 'esm', target: 'node20' })
})
afterAll(() => rmSync(folder, { recursive: true }))

/** The real command, as a process of its own. */
function start(argv: string, { cwd = emptyFolder(), env = {}, stdio = 'pipe' as StdioOptions } = {}) {
  const child = spawn(process.execPath, [BIN, ...argv.split(' ')], {
    cwd,
    env: { PATH: process.env.PATH, TIX_SANDBOX_URL: 'none', ...env },
    stdio,
  })
  const said = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]?.setEncoding('utf8').on('data', (text: string) => {
      said[name] += text
    })
  }
  /** Its exit code, or the signal that ended it. */
  const ended: Promise<number | string | null> = once(child, 'close').then(([code, signal]) => code ?? signal)
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await ended
  })
  /** Resolves when it has said the text. */
  const until = (text: string): Promise<void> =>
    expect.poll(() => said.stdout, { message: said.stderr }).toContain(text)
  return { child, said, until, ended }
}

/** Starts a sandbox that keeps its state. */
async function startWithState(cwd: string, to: string) {
  const started = start(`sandbox --port 0 --json --state state.json --to ${to}`, { cwd })
  await started.until('"event":"ready"')
  const { url } = JSON.parse(started.said.stdout.split('\n')[0] ?? '') as { url: string }
  return { ...started, url }
}

describe('the command as a process', () => {
  test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
    'runs a sandbox until %s, ends with 0, and leaves nothing behind',
    async (signal) => {
      const cwd = emptyFolder()
      const { child, until, ended, said } = start('sandbox --port 0 --to http://127.0.0.1:9', { cwd })
      await until('Stop it with Ctrl-C.')
      expect(existsSync(join(cwd, '.tix-webhooks-sandbox.json'))).toBe(true)
      child.kill(signal)
      expect(await ended).toBe(0)
      expect(said.stderr).toBe('')
      expect(readdirSync(cwd)).toEqual([])
    },
  )

  test('listens at an endpoint of the sandbox, which it removes on Ctrl-C', async () => {
    const { url, json } = await sandbox()
    const { child, until, ended, said } = start('listen', { env: { TIX_SANDBOX_URL: url } })
    await until('Listening at')
    expect(await json('endpoints')).toHaveLength(1)
    await json('trigger', 'order.created', '--wait')
    await until('<-- [200]')
    expect(said.stdout).toMatch(/--> order\.created \[dlv_\w+\] verified attempt 1 signed \d+ s ago/)
    child.kill('SIGINT')
    expect(await ended).toBe(0)
    expect(await json('endpoints')).toEqual([])
  })

  test('[N140] gives no id twice with --state, though it is killed before it can write what it did', async () => {
    const { url: to, arrivals } = await receiver()
    const cwd = emptyFolder()
    // A delivery whose answer was not yet written is sent again by the next process, with the same bytes.
    const bodies = new Set<string>()
    for (const _time of ['first', 'second', 'third']) {
      const { child, ended, url } = await startWithState(cwd, to)
      await run(`trigger order.created --repeat 3 --sandbox ${url}`)
      child.kill('SIGKILL')
      expect(await ended).toBe('SIGKILL')
      for (const { body } of arrivals.splice(0)) bodies.add(String(body))
    }
    const orders = [...bodies].map((body) => JSON.parse(body).data.order.id)
    expect(new Set(orders).size).toBe(orders.length)
    expect(orders.length).toBe(9)
  })

  test('is the only one with its --state: a second one ends with 2, and says who has the file', async () => {
    const cwd = emptyFolder()
    const { child, url } = await startWithState(cwd, 'http://127.0.0.1:9')
    const second = start('sandbox --port 0 --state state.json', { cwd })
    expect(await second.ended).toBe(2)
    expect(second.said.stderr).toContain(
      `is in use by another sandbox at ${url} (process ${child.pid}): stop that one first`,
    )
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
    const { child, ended, said } = start('deliveries --json --limit 50', { env: { TIX_SANDBOX_URL: url } })
    child.stdout?.destroy()
    expect(await ended).toBe(0)
    expect(said.stderr).toBe('')
  })

  test('does not report a failing receiver as passed when its output is closed', async () => {
    const { url } = await receiver()
    const { child, until, ended, said } = start(`check ${url} --secret s --json`)
    await until('"passed":')
    child.stdout?.destroy()
    expect(await ended).not.toBe(0)
    expect(said.stderr).toBe('')
  })

  test.runIf(existsSync('/dev/full')).each([
    ['stdout', 'stderr'],
    ['stderr', 'stdout'],
  ] as const)('ends with 1 if %s is on a full disk, and says so on %s', async (full, other) => {
    const cwd = emptyFolder()
    const device = openSync('/dev/full', 'w')
    onTestFinished(() => closeSync(device))
    const stdio: StdioOptions = [
      'ignore',
      ...(full === 'stdout' ? ([device, 'pipe'] as const) : (['pipe', device] as const)),
    ]
    // It warns on stderr, as it lets others in, before it says anything on stdout.
    const argv = 'sandbox --port 0 --state state.json --host 0.0.0.0 --allow-host here'
    const { said, ended } = start(argv, { cwd, stdio })
    expect(await ended).toBe(1)
    expect(said[other].match(/^The output cannot be written: ENOSPC.*$/gm)).toHaveLength(1)
    expect(said[other]).not.toContain('    at ')
    expect(readdirSync(cwd)).toEqual(['state.json'])
  })

  test('reads the standard input', async () => {
    const { child, ended, said } = start('sign --secret s --t 1')
    child.stdin?.end('{}')
    expect(await ended).toBe(0)
    expect(said.stdout).toBe((await run('sign --secret s --t 1 --body {}')).stdout)
  })

  test('waits for no more input after Ctrl-C', async () => {
    const { child, ended, said } = start('sign --secret s')
    // More than a pipe holds: when it is taken, the command has begun to read.
    if (!child.stdin?.write('x'.repeat(1_000_000))) await once(child.stdin as NodeJS.WritableStream, 'drain')
    child.kill('SIGINT')
    expect(await ended).toBe(130)
    expect(said).toEqual({ stdout: '', stderr: '' })
  })
})
