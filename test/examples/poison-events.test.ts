import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { sampleEvent } from 'tix-webhooks/testing'
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { orderCreated, SECRET, sign } from '../support/deliveries.js'
import { freePort } from '../support/free-port.js'
import { listen } from '../support/http.js'
import { onPostgres } from '../support/on-servers.js'
import { testDatabase } from '../support/postgres-database.js'
import { deliver } from '../support/raw-bytes-harness.js'
import { ROOT } from '../support/root.js'
import { startProcess } from '../support/server-process.js'

const START = "await import('./examples/poison-events.ts'); console.log('ready')"

onPostgres('examples/poison-events.ts', () => {
  const database = testDatabase()
  let example: typeof import('../../examples/poison-events.js')
  let port = 0
  let printed: string[] = []
  let printer: Awaited<ReturnType<typeof listen>>
  let isPrinterBroken = true
  let whilePrinting: () => Promise<unknown> = async () => {}

  beforeAll(async () => {
    printer = await listen(async (req, res) => {
      let body = ''
      await whilePrinting()
      req.on('data', (chunk) => {
        body += chunk
      })
      req.on('end', () => {
        if (!isPrinterBroken) printed.push(JSON.parse(body).order.id)
        res.writeHead(isPrinterBroken ? 500 : 200).end()
      })
    })
    const url = new URL(database.url)
    url.searchParams.set('options', database.settings())
    vi.stubEnv('DATABASE_URL', url.href)
    vi.stubEnv('TIX_SIGNING_SECRET', SECRET)
    vi.stubEnv('PRINTER_URL', printer.url)
    vi.stubEnv('PORT', '0')
    example = await import('../../examples/poison-events.js')
    if (!example.server.listening) await once(example.server, 'listening')
    port = (example.server.address() as AddressInfo).port
  })
  afterAll(async () => {
    vi.unstubAllEnvs()
    example?.server.close()
    await example?.pool.end()
    await printer?.close()
  })
  beforeEach(() => {
    isPrinterBroken = true
    whilePrinting = async () => {}
    printed = []
    vi.spyOn(console, 'error').mockImplementation(() => {})
  })

  const send = async (path: string, event: object): Promise<unknown[]> => {
    const { status, text } = await deliver(port, await sign(event), { path })
    return [status, JSON.parse(text).outcome]
  }
  const aside = (): Promise<unknown[]> => database.column('SELECT key FROM poison WHERE put_back_at IS NULL')

  test('sets an order aside at the fifth attempt, discards it, and puts it back once', async () => {
    const order = orderCreated({ id: 'ord_1' })
    for (let attempt = 1; attempt < 5; attempt++) {
      expect(await send('/hooks/orders', order)).toEqual([500, 'failed'])
    }
    expect(await aside()).toEqual([])
    expect(await send('/hooks/orders', order)).toEqual([200, 'discarded'])
    expect(await send('/hooks/orders', order)).toEqual([200, 'duplicate'])
    const [key] = await aside()
    expect(key).toBe('orders/order.created/ord_1')

    await expect(example.putBack(String(key))).rejects.toThrow('the printer answered 500')
    expect(await aside()).toEqual([key])
    isPrinterBroken = false
    expect(await Promise.all([example.putBack(String(key)), example.putBack(String(key))])).toEqual(
      expect.arrayContaining([true, false]),
    )
    expect([printed, await aside()]).toEqual([['ord_1'], []])
    expect(await send('/hooks/orders', order)).toEqual([200, 'duplicate'])
  })

  test('sets an event aside at six hours, in the transaction of its record, and puts it back', async () => {
    const published = (at: Date, kind = 'event.published', id = 'evt_1') =>
      sampleEvent(kind, { data: { event: { id } }, exact: true, at: at.toISOString() })
    const young = published(new Date(Date.now() - 5 * 3_600_000))
    const old = published(new Date(Date.now() - 7 * 3_600_000))
    await database.query('ALTER TABLE listing RENAME TO away')
    expect(await send('/hooks/events', young)).toEqual([500, 'failed'])
    expect(await aside()).toEqual([])
    expect(await send('/hooks/events', old)).toEqual([200, 'handled'])
    expect(await send('/hooks/events', old)).toEqual([200, 'duplicate'])
    const [key] = await aside()
    expect(await database.column('SELECT key FROM tix_webhooks_inbox')).toEqual([key])
    const other = published(new Date(Date.now() - 7 * 3_600_000), 'event.published', 'evt_2')
    expect(await send('/hooks/events', other)).toEqual([200, 'handled'])
    const [late] = (await aside()).filter((one) => one !== key)

    await database.query('ALTER TABLE away RENAME TO listing')
    expect(await example.putBack(String(key))).toBe(true)
    expect(await database.query('SELECT * FROM listing')).toEqual([
      { event_id: 'evt_1', state: 'event.published' },
    ])
    expect([await aside(), await example.putBack(String(key))]).toEqual([[late], false])

    const newer = published(new Date(), 'event.cancelled', 'evt_2')
    expect(await send('/hooks/events', newer)).toEqual([200, 'handled'])
    expect(await example.putBack(String(late))).toBe(true)
    expect(await database.column("SELECT state FROM listing WHERE event_id = 'evt_2'")).toEqual([
      'event.cancelled',
    ])
    expect(await aside()).toEqual([])
  })

  test('does not print an order whose fifth attempt ended between the row and the record', async () => {
    const order = orderCreated({ id: 'ord_2' })
    for (let attempt = 1; attempt <= 5; attempt++) await send('/hooks/orders', order)
    const [key] = await aside()
    await database.query("UPDATE tix_webhooks SET state = 'released' WHERE key = $1", [key])
    isPrinterBroken = false
    expect(await send('/hooks/orders', order)).toEqual([200, 'discarded'])
    expect(printed).toEqual([])
    expect(await example.putBack(String(key))).toBe(true)
    expect(printed).toEqual(['ord_2'])
  })

  test('keeps what jsonb refuses, and puts it back as it was', async () => {
    const order = { ...orderCreated({ id: 'ord_3' }), note: 'a\0b \ud800' }
    for (let attempt = 1; attempt < 5; attempt++) await send('/hooks/orders', order)
    expect(await send('/hooks/orders', order)).toEqual([200, 'discarded'])
    const [key] = await aside()
    const [event] = await database.column('SELECT event FROM poison WHERE put_back_at IS NULL')
    expect(event).toMatchObject({ note: 'a\0b \ud800' })
    isPrinterBroken = false
    expect(await example.putBack(String(key))).toBe(true)
    expect(printed).toEqual(['ord_3'])
  })

  test('survives a connection that breaks while an event is put back, and keeps the row', async () => {
    const order = orderCreated({ id: 'ord_4' })
    for (let attempt = 1; attempt <= 5; attempt++) await send('/hooks/orders', order)
    const [key] = await aside()
    whilePrinting = async () => {
      await database.query(
        `SELECT pg_terminate_backend(pid) FROM pg_locks WHERE relation = '${database.schema}.poison'::regclass`,
      )
    }
    await expect(example.putBack(String(key))).rejects.toThrow()
    expect(await aside()).toEqual([key])
    whilePrinting = async () => {}
    isPrinterBroken = false
    expect(await example.putBack(String(key))).toBe(true)
  })

  test('remembers for 30 days what was newer, also if it is put back before any delivery', async () => {
    const cancelled = sampleEvent('event.cancelled', { data: { event: { id: 'evt_3' } }, exact: true })
    await database.query("INSERT INTO poison VALUES ('a cancellation', $1, '')", [JSON.stringify(cancelled)])
    expect(await example.putBack('a cancellation')).toBe(true)
    const kept = await database.column(
      "SELECT expires_at > now() + interval '29 days' FROM tix_webhooks_inbox_newest WHERE subject = 'evt_3'",
    )
    expect(kept).toEqual([true])
  })

  test('sets an event aside whose deferred constraint fails at COMMIT', async () => {
    await database.query('CREATE TABLE venues (event_id text PRIMARY KEY)')
    await database.query(
      'ALTER TABLE listing ADD CONSTRAINT venue FOREIGN KEY (event_id) REFERENCES venues DEFERRABLE INITIALLY DEFERRED NOT VALID',
    )
    const old = sampleEvent('event.published', {
      data: { event: { id: 'evt_4' } },
      exact: true,
      at: new Date(Date.now() - 7 * 3_600_000).toISOString(),
    })
    expect(await send('/hooks/events', old)).toEqual([200, 'handled'])
    const [key] = await aside()
    await expect(example.putBack(String(key))).rejects.toThrow('violates foreign key constraint')
    await database.query("INSERT INTO venues VALUES ('evt_4')")
    expect(await example.putBack(String(key))).toBe(true)
    expect(await database.column("SELECT state FROM listing WHERE event_id = 'evt_4'")).toEqual([
      'event.published',
    ])
  })

  test('prints an order once that is put back after its process died between the row and the record', async () => {
    const order = orderCreated({ id: 'ord_5' })
    for (let attempt = 1; attempt < 5; attempt++) await send('/hooks/orders', order)
    const other = await freePort()
    const doomed = await startProcess({
      file: process.execPath,
      args: ['--import', 'tsx', '--input-type=module', '-e', START],
      options: { cwd: ROOT, env: { ...process.env, PORT: String(other) } },
      ready: /ready/,
      abort: 'SIGKILL',
    })
    // Holds the record during the fifth attempt, so that it cannot be completed.
    const holder = await example.pool.connect()
    whilePrinting = async () => {
      await holder.query("BEGIN; SELECT 1 FROM tix_webhooks WHERE key LIKE '%/ord_5' FOR UPDATE")
    }
    const unanswered = deliver(other, await sign(order), { path: '/hooks/orders' }).catch(() => {})
    await vi.waitFor(async () => expect(await aside()).toHaveLength(1), { interval: 10 })
    await doomed.end('SIGKILL')
    await unanswered
    // Its statement is still waiting.
    await holder.query(
      'SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE pg_backend_pid() = ANY(pg_blocking_pids(pid))',
    )
    await holder.query("UPDATE tix_webhooks SET state = 'released' WHERE key LIKE '%/ord_5'")
    await holder.query('COMMIT')
    holder.release()

    whilePrinting = async () => {}
    isPrinterBroken = false
    const [key] = await aside()
    expect(await example.putBack(String(key))).toBe(true)
    expect(await send('/hooks/orders', order)).toEqual([200, 'discarded'])
    expect(printed).toEqual(['ord_5'])
  })
})
