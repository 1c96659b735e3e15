/** @module-tag slow */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { build } from 'esbuild'
import { createSandbox } from 'tix-webhooks/sandbox'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { lockState } from '../../../../sandbox/service/state/state-lock.js'
import { ROOT } from '../../../support/root.js'

let folder: string
let stateFile: string
let lock: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sandbox-lock-'))
  stateFile = join(folder, 'state.json')
  lock = `${stateFile}.lock`
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const STARTED = Date.now() - process.uptime() * 1000

/** Leaves a lock as another process would have, renewed so many seconds ago. */
function leave(holder: object | string, secondsAgo: number): void {
  const mine = { id: 'other', pid: process.pid, host: hostname(), started: STARTED }
  writeFileSync(lock, typeof holder === 'string' ? holder : JSON.stringify({ ...mine, ...holder }))
  const at = Date.now() / 1000 - secondsAgo
  utimesSync(lock, at, at)
}

/** The id of a process that has ended. */
async function endedPid(): Promise<number> {
  const child = spawn(process.execPath, ['-e', ''])
  await once(child, 'exit')
  return child.pid ?? 0
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

  test.each<[string, () => Promise<object | string> | object | string, number, boolean]>([
    ['a process that runs', () => ({ pid: process.ppid }), 0, true],
    ['a process that ended', async () => ({ pid: await endedPid() }), 0, false],
    ['a process whose id another one has now', () => ({ pid: process.ppid }), 31, false],
    [
      'an earlier process with this id, as in a container that was restarted',
      () => ({ started: STARTED - 5000 }),
      0,
      false,
    ],
    ['another machine or container', () => ({ host: 'elsewhere' }), 0, true],
    ['another machine that has gone', () => ({ host: 'elsewhere' }), 31, false],
    ['a machine whose clock was set back', () => ({ host: 'elsewhere' }), -3600, false],
    ['a process that writes it at this moment', () => '', 0, true],
    ['a process that was killed while it wrote it', () => '{"id":', 31, false],
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

  test('is not written through a link', () => {
    const target = join(folder, 'target')
    writeFileSync(target, 'precious')
    symlinkSync(target, lock)
    expect(() => lockState(stateFile)).toThrow('could not be written: it is a symbolic link, not a file')
    expect(readFileSync(target, 'utf8')).toBe('precious')
  })

  test('is renewed for as long as it is held', async () => {
    // Before the module is loaded, which takes its clock then.
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'Date'] })
    onTestFinished(() => {
      vi.useRealTimers()
      vi.resetModules()
    })
    vi.resetModules()
    const { lockState } = await import('../../../../sandbox/service/state/state-lock.js')
    const held = lockState(stateFile)
    await vi.advanceTimersByTimeAsync(3_600_000)
    expect(() => lockState(stateFile)).toThrow('is in use')
    held.release()
    expect(vi.getTimerCount()).toBe(0)
  })

  test('of a holder that is gone is taken over by one of those that race for it', async () => {
    const code = await build({
      stdin: { contents: CONTENDER, resolveDir: ROOT, loader: 'ts' },
      bundle: true,
      write: false,
      platform: 'node',
    })
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
