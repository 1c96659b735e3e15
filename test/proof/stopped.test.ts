import { type ChildProcess, fork } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { join } from 'node:path'
import { buildSync } from 'esbuild'
import { Redis } from 'ioredis'
import { redisStore } from 'tix-webhooks/redis'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import type { StoppedMessage } from '../support/apps/stopped.js'
import { onRedis, redisPrefix, redisUrl } from '../support/on-servers.js'
import { ROOT } from '../support/root.js'
import { makeFolder, removeFolder } from '../support/server-process.js'

// A loaded machine is many times slower than an idle one.
vi.setConfig({ testTimeout: 90_000, hookTimeout: 90_000 })
const PATIENCE = { timeout: 60_000, interval: 20 }

/** The rest of a record's lease, in milliseconds. */
const REST = `
  local leaseEnd = string.match(redis.call('GET', KEYS[1]) or '', '^running %d+ (%-?%d+) ')
  return redis.call('PTTL', KEYS[1]) - (leaseEnd or 0)`

onRedis('a process that is stopped for longer than its lease', () => {
  let folder = ''
  let child: ChildProcess
  let client: Redis
  // Every process numbers its orders from the start.
  let prefix = ''

  beforeAll(async () => {
    client = new Redis(redisUrl())
    folder = await makeFolder()
    buildSync({
      entryPoints: [join(ROOT, 'test/support/apps/stopped.ts')],
      outfile: join(folder, 'stopped.cjs'),
      bundle: true,
      platform: 'node',
      format: 'cjs',
      logLevel: 'error',
    })
  })
  afterEach(() => {
    child.kill('SIGKILL')
  })
  afterAll(async () => {
    client.disconnect()
    await removeFolder(folder)
  })

  /** Stops the process in the middle of a handler. Returns the key of its event, and its later reports. */
  async function stopInHandler(): Promise<{ key: string; nextMessage: () => Promise<StoppedMessage> }> {
    prefix = redisPrefix(`stopped${randomUUID()}`)
    const settings = JSON.stringify({ url: redisUrl(), prefix })
    child = fork(join(folder, 'stopped.cjs'), [settings], { execArgv: [] })
    const messages: StoppedMessage[] = []
    child.on('message', (message: StoppedMessage) => messages.push(message))
    async function nextMessage(): Promise<StoppedMessage> {
      while (messages.length === 0) await once(child, 'message')
      return messages.shift() as StoppedMessage
    }
    const first = await nextMessage()
    child.kill('SIGSTOP')
    return { key: 'handling' in first ? first.handling : '', nextMessage }
  }

  const restOf = async (key: string): Promise<number> => Number(await client.eval(REST, 1, prefix + key))

  test('renews it if nobody took the event over: the signal does not abort, and nothing is reported', async () => {
    const { key, nextMessage } = await stopInHandler()
    await expect.poll(() => restOf(key), PATIENCE).toBeLessThan(0)
    child.kill('SIGCONT')
    await expect.poll(() => restOf(key), PATIENCE).toBeGreaterThan(0)
    child.send('end')
    expect(await nextMessage()).toEqual({ aborted: null })
    expect(await nextMessage()).toEqual({ outcome: 'handled', reports: [] })
  })

  test('learns by the signal if another delivery took the event over', async () => {
    const { key, nextMessage } = await stopInHandler()
    const other = redisStore(client, { prefix })
    const claim = () => other.claim({ key, token: 'other', leaseMs: 600_000, retainMs: 1_000_000 })
    await expect.poll(claim, PATIENCE).toEqual({ status: 'claimed', attempt: 2 })
    child.kill('SIGCONT')
    const lost = expect.stringMatching(
      /^The lease of \S+ was lost .*ran out before it was renewed, and either another delivery has taken/,
    )
    expect(await nextMessage()).toEqual({ aborted: lost })
    const notRecorded = expect.stringMatching(/Another delivery has claimed it since/)
    expect(await nextMessage()).toEqual({ outcome: 'handled', reports: [lost, notRecorded] })
  })
})
