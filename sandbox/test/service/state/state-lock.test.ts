/** @module-tag slow */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import fs, { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { build } from 'esbuild'
import { createSandbox } from 'tix-webhooks-sandbox'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { ROOT } from '../../../../test/support/root.js'
import { lockState } from '../../../service/state/state-lock.js'
import { emptyFolder } from '../../support/cli.js'

let folder: string
let stateFile: string
let lock: string

beforeEach(() => {
  folder = emptyFolder()
  stateFile = join(folder, 'state.json')
  lock = `${stateFile}.lock`
})

const IS_LINUX = process.platform === 'linux'
const NAMESPACE = IS_LINUX ? fs.readlinkSync('/proc/self/ns/pid') : undefined

/** When a process started, on Linux. */
function startOf(pid: number): string | undefined {
  return IS_LINUX ? readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ').at(-1)?.split(' ')[19] : undefined
}

/** Leaves a lock as another process would have, renewed so many seconds ago. */
function leave(holder: object | string, secondsAgo: number): void {
  const mine = { id: 'other', pid: process.pid, host: hostname(), namespace: NAMESPACE }
  writeFileSync(lock, typeof holder === 'string' ? holder : JSON.stringify({ ...mine, ...holder }))
  const at = Date.now() / 1000 - secondsAgo
  fs.utimesSync(lock, at, at)
}

/** The id of a process that has ended. */
async function endedPid(): Promise<number> {
  const child = spawn(process.execPath, ['-e', ''])
  await once(child, 'exit')
  return child.pid ?? 0
}

/** A process that has ended, while its parent, which is stopped, has not asked how. */
async function zombie(): Promise<object> {
  const shell = spawn('sh', ['-c', 'sleep 1000 & echo $!; kill -STOP $$'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  onTestFinished(() => void shell.kill('SIGKILL'))
  const pid = Number(String((await once(shell.stdout, 'data'))[0]))
  const started = startOf(pid)
  await expect.poll(() => stateOf(shell.pid ?? 0)).toBe('T')
  process.kill(pid, 'SIGKILL')
  await expect.poll(() => stateOf(pid)).toBe('Z')
  return { pid, started }
}

function stateOf(pid: number): string | undefined {
  return readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ').at(-1)?.[0]
}

describe('the lock of a state file', () => {
  test('keeps a second sandbox of the same process out, until the first is closed', async () => {
    const first = createSandbox({ stateFile })
    expect(() => createSandbox({ stateFile })).toThrow(
      `The state file ${stateFile} is in use by another sandbox (process ${process.pid}): stop that one first, or name another file.`,
    )
    await first.close()
    await createSandbox({ stateFile }).close()
    expect(readdirSync(folder)).toEqual(['state.json'])
  })

  test('is given back by a sandbox that cannot be made', () => {
    writeFileSync(stateFile, '{')
    for (const _time of ['first', 'second']) {
      expect(() => createSandbox({ stateFile })).toThrow('cannot be used')
    }
    expect(readdirSync(folder)).toEqual(['state.json'])
  })

  type Holder = () => Promise<object | string> | object | string
  const running = () => ({ pid: process.ppid, started: startOf(process.ppid) })
  const ended = async () => ({ pid: await endedPid() })
  const elsewhere = () => ({ host: 'elsewhere' })
  const contained = async () => ({ namespace: 'other', ...(await ended()) })
  const containedTwin = () => ({ namespace: 'other', started: startOf(process.pid) })

  /** Linux tells when a process started, and whether it is a zombie. */
  const ofLinux: [string, Holder, number, boolean][] = [
    ['a process that runs, after the wall clock was set forward', running, 3600, true],
    ['a process whose id another one has now', () => ({ ...running(), started: '1' }), 0, false],
    ['an earlier process with this id', () => ({ started: '1' }), 0, false],
    ['a killed process whose parent has not noticed', zombie, 0, false],
  ]

  test.each<[string, Holder, number, boolean]>([
    ['a process that runs', running, 0, true],
    ['a process that ended', ended, 0, false],
    ['a process whose id another one may have now', () => ({ pid: process.ppid }), 31, false],
    ['a process of another PID namespace', contained, 0, true],
    ['a PID namespace that has gone', containedTwin, 31, false],
    ['another machine or container', elsewhere, 0, true],
    ['another machine that has gone', elsewhere, 31, false],
    ['a machine whose clock was set back', elsewhere, -3600, false],
    ['a process that writes it at this moment', () => '', 0, true],
    ['a process that was killed while it wrote it', () => '{"id":', 31, false],
    ...(IS_LINUX ? ofLinux : []),
  ])('of %s', async (_, holder, secondsAgo, isHeld) => {
    leave(await holder(), secondsAgo)
    const text = readFileSync(lock, 'utf8')
    if (isHeld) {
      expect(() => lockState(stateFile)).toThrow(`The state file ${stateFile} is in use by another sandbox`)
      expect(readFileSync(lock, 'utf8')).toBe(text)
    } else {
      lockState(stateFile).release()
      expect(readdirSync(folder)).toEqual([])
    }
  })

  test('is not removed by one that lost it', () => {
    const lost = lockState(stateFile)
    leave({}, 0)
    lost.release()
    expect(readdirSync(folder)).toEqual(['state.json.lock'])
  })

  test('is renewed for as long as it is held', async () => {
    // Before the module is loaded, which takes its clock then.
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'Date'] })
    onTestFinished(() => {
      vi.useRealTimers()
      vi.resetModules()
    })
    vi.resetModules()
    const { lockState } = await import('../../../service/state/state-lock.js')
    const held = lockState(stateFile)
    await vi.advanceTimersByTimeAsync(3_600_000)
    expect(() => lockState(stateFile)).toThrow('is in use')
    held.release()
    expect(vi.getTimerCount()).toBe(0)
  })

  test('of a holder that is gone is taken over by one of those that race for it', async () => {
    const stdin = { contents: CONTENDER, resolveDir: ROOT, loader: 'ts' } as const
    const code = await build({ stdin, bundle: true, write: false, platform: 'node' })
    const gate = new Int32Array(new SharedArrayBuffer(8))
    const contenders = Array.from({ length: 4 }, () => {
      const workerData = { stateFile, gate, rounds: ROUNDS }
      return new Worker(code.outputFiles[0]?.text ?? '', { eval: true, workerData })
    })
    onTestFinished(async () => void (await Promise.all(contenders.map((one) => one.terminate()))))
    const answers = (): Promise<boolean[]> =>
      Promise.all(contenders.map(async (one) => (await once(one, 'message'))[0] as boolean))
    await answers()
    for (let round = 1; round <= ROUNDS; round += 1) {
      leave({ host: 'elsewhere' }, 31)
      const answered = answers()
      open(gate, 0, round)
      expect((await answered).filter(Boolean)).toHaveLength(1)
      const released = answers()
      open(gate, 1, round)
      await released
      expect(readdirSync(folder)).toEqual([])
    }
  })
})

const ROUNDS = 200

function open(gate: Int32Array, at: number, round: number): void {
  Atomics.store(gate, at, round)
  Atomics.notify(gate, at)
}

/** Takes the lock in each round at the same moment as the others. */
const CONTENDER = `
  import { parentPort, workerData } from 'node:worker_threads'
  import { lockState } from './sandbox/service/state/state-lock.js'
  const { stateFile, gate, rounds } = workerData
  const say = (what) => parentPort.postMessage(what)
  const wait = (at, round) => Atomics.wait(gate, at, round - 1)
  say(true)
  for (let round = 1; round <= rounds; round += 1) {
    wait(0, round)
    let held
    try { held = lockState(stateFile) } catch {}
    say(held !== undefined)
    wait(1, round)
    held?.release()
    say(true)
  }
`
