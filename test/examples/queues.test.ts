import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { orderCreated, SECRET } from '../support/deliveries.js'
import { eventually } from '../support/eventually.js'
import { DUPLICATE, exampleEnvironment, FAILED, HANDLED, post } from '../support/examples.js'
import { freePort } from '../support/free-port.js'
import { portOf } from '../support/http.js'
import { onOwnPostgres, onOwnRedis } from '../support/on-servers.js'
import { type PostgresServer, startPostgres } from '../support/postgres-server.js'
import { type RedisServer, startRedis } from '../support/redis-server.js'
import { ROOT } from '../support/root.js'
import { startProxy } from '../support/tcp-proxy.js'

// A loaded machine is many times slower than an idle one.

const printed = exampleEnvironment()

const jobsOf = (orderId: string): string[] =>
  printed.filter((line) => line.startsWith('job ') && line.includes(orderId))

onOwnPostgres('examples/graphile-worker.ts', () => {
  let postgres: PostgresServer
  let example: typeof import('../../examples/graphile-worker.js')
  let port: number

  beforeAll(async () => {
    postgres = await startPostgres()
    vi.stubEnv('TIX_SIGNING_SECRET', SECRET)
    vi.stubEnv('PORT', '0')
    vi.stubEnv('DATABASE_URL', postgres.url)
    // Of the shared server: there is no such schema on this one.
    vi.stubEnv('PGOPTIONS', '')
    example = await import('../../examples/graphile-worker.js')
    port = await portOf(example.server)
  })
  afterAll(async () => {
    vi.unstubAllEnvs()
    example?.server.close()
    await example?.worker.stop()
    await example?.pool.end()
    await postgres?.stop()
  })

  const count = async (table: string): Promise<number> =>
    (await example.pool.query(`SELECT count(*)::integer AS count FROM ${table}`)).rows[0].count
  const everyJobIsDone = () => expect.poll(() => count('graphile_worker.jobs')).toBe(0)

  test('leaves no job of an order that failed, and makes one of it when it is handled', async () => {
    const order = orderCreated({ id: 'ord_1' })
    await example.pool.query("INSERT INTO orders VALUES ('ord_1', 1)")
    expect(await post(port, order)).toEqual(FAILED)
    expect([
      await count('graphile_worker.jobs'),
      await count('tix_webhooks_events WHERE handled_at IS NOT NULL'),
    ]).toEqual([0, 0])

    await example.pool.query('DELETE FROM orders')
    expect(await post(port, order)).toEqual(HANDLED)
    expect(await post(port, order)).toEqual(DUPLICATE)
    await everyJobIsDone()
    expect(jobsOf('ord_1')).toEqual([expect.stringMatching(/^job of orders\/order\.created\/ord_1: tik_/)])
  })
})

onOwnRedis('examples/bullmq.ts', () => {
  let redis: RedisServer
  let example: typeof import('../../examples/bullmq.js')
  let port: number

  beforeAll(async () => {
    redis = await startRedis()
    vi.stubEnv('TIX_SIGNING_SECRET', SECRET)
    vi.stubEnv('PORT', '0')
    vi.stubEnv('REDIS_URL', redis.url)
    example = await import('../../examples/bullmq.js')
    port = await portOf(example.server)
  })
  afterAll(async () => {
    vi.unstubAllEnvs()
    await example?.stop()
    await redis?.stop()
  })

  const record = (orderId: string): string => `tix-webhooks:orders/order.created/${orderId}`
  const jobId = (orderId: string): string => `orders%2Forder.created%2F${orderId}`
  const jobIds = async (): Promise<(string | undefined)[]> =>
    (await example.queue.getJobs()).map(({ id }) => id)

  test('adds no job of an order that failed, and one when it is handled', async () => {
    const order = orderCreated({ id: 'ord_1' })
    // The key of BullMQ's job counter, so that adding a job fails.
    const counter = example.queue.toKey('id')
    await example.redis.set(counter, 'not a number')
    expect(await post(port, order)).toEqual(FAILED)
    await example.redis.del(counter)
    expect(await jobIds()).toEqual([])

    expect(await post(port, order)).toEqual(HANDLED)
    expect(await post(port, order)).toEqual(DUPLICATE)
    await expect.poll(() => jobsOf('ord_1')).toHaveLength(1)
    expect(await jobIds()).toEqual([jobId('ord_1')])
  })

  test('adds no second job when the process dies before it can record the event', async () => {
    const proxy = await startProxy({ port: redis.port })
    onTestFinished(() => proxy.close())
    const order = orderCreated({ id: 'ord_2' })
    let hasJob = false
    const recording = proxy.nextRequest((chunk) => {
      hasJob ||= chunk.includes(jobId('ord_2'))
      const isRecording = hasJob && chunk.includes(record('ord_2'))
      if (isRecording) proxy.blackHole()
      return isRecording
    })
    const app = await startExample(`redis://127.0.0.1:${proxy.port}`)
    const delivery = post(app.port, order).catch(() => 'cut off')
    await recording
    await app.end('SIGKILL')
    expect(await delivery).toBe('cut off')
    expect(await example.redis.get(record('ord_2'))).toMatch(/^running 1 /)
    expect(await jobIds()).toContain(jobId('ord_2'))

    await example.redis.pexpire(record('ord_2'), (await example.redis.pttl(record('ord_2'))) - 3_600_000)
    expect(await post(port, order)).toEqual(HANDLED)
    expect(await example.redis.get(record('ord_2'))).toMatch(/^completed 2 /)
    expect((await jobIds()).filter((id) => id?.includes('ord_2'))).toEqual([jobId('ord_2')])
  })
})

/** Runs the example as its first lines describe. */
async function startExample(redisUrl: string) {
  const port = await freePort()
  const child = spawn(process.execPath, ['--import', 'tsx', 'examples/bullmq.ts'], {
    cwd: ROOT,
    env: { ...process.env, TIX_SIGNING_SECRET: SECRET, PORT: String(port), REDIS_URL: redisUrl },
    stdio: 'ignore',
  })
  const exited = once(child, 'exit')
  async function end(signal: NodeJS.Signals): Promise<unknown> {
    child.kill(signal)
    return (await exited)[0]
  }
  onTestFinished(() => void end('SIGKILL'))
  await eventually(() => fetch(`http://127.0.0.1:${port}`))
  return { port, end }
}
