import { execFile } from 'node:child_process'
import { createServer } from 'node:http'
import { promisify } from 'node:util'
import Koa from 'koa'
import type { JsonObject } from 'tix-webhooks'
import { adapterCases } from 'tix-webhooks/testing'
import { expect, onTestFinished, test, vi } from 'vitest'
import { lifecycleEvent, orderCreated, SECRET, sign } from '../support/deliveries.js'
import { DUPLICATE, exampleEnvironment, FAILED, HANDLED, post } from '../support/examples.js'
import { listen, portOf } from '../support/http.js'
import { testMysqlDatabase } from '../support/mysql-database.js'
import { onMysql } from '../support/on-servers.js'
import { deliver } from '../support/raw-bytes-harness.js'
import { ROOT } from '../support/root.js'

const printed = exampleEnvironment()

test('examples/schemas.ts types and checks kinds by schemas, and names the path of a fault', async () => {
  const { server } = await import('../../examples/schemas.js')
  const port = await portOf(server)
  const event = { id: 'evt_1' }
  const send = (type: string, data: JsonObject) => post(port, lifecycleEvent(type, data))
  onTestFinished(() => void server.close())
  expect(await send('event.rescheduled', { event, doors_at: '2026-06-01T20:00:00+02:00' })).toEqual(HANDLED)
  expect(await send('event.rescheduled', { event, doors_at: 'soon' })).toEqual([
    500,
    { outcome: 'unprocessable' },
  ])
  expect(await send('order.created', { order: { id: 'ord_1', total_cents: -1 }, tickets: [] })).toEqual([
    500,
    { outcome: 'unprocessable' },
  ])
  expect(await send('order.refunded', { order_id: 'ord_1', amount_cents: 100 })).toEqual(HANDLED)
  expect(await send('venue.opened', {})).toEqual(HANDLED)
  expect(printed).toEqual([
    'evt_1 now opens 2026-06-01T18:00:00.000Z',
    expect.stringMatching(/does not fit its schema, at data\.doors_at\. \(data_mismatch\)$/),
    expect.stringMatching(/does not fit its schema, at data\.order\.total_cents\. \(data_mismatch\)$/),
    'refund of 100 for ord_1',
    'no handler for venue.opened',
  ])
})

test('examples/own-inbox.ts proves an inbox by the conformance cases', async () => {
  const { prove } = await import('../../examples/own-inbox.js')
  await prove()
  expect(printed.length).toBeGreaterThan(10)
})

test('examples/own-adapter.ts answers without the headers that a middleware has set for another body', async () => {
  const { tixWebhooks } = await import('../../examples/own-adapter.js')
  const app = new Koa().use((ctx, next) => {
    ctx.set({ etag: '"1"', 'content-encoding': 'br' })
    return next()
  })
  app.use(tixWebhooks({ secret: SECRET, on: { 'order.created': () => {} } }))
  const { port, close } = await listen(createServer(app.callback()))
  onTestFinished(close)
  const { headers } = await deliver(port, await sign(orderCreated()))
  expect([headers.etag, headers['content-encoding']]).toEqual([undefined, undefined])
})

test('examples/own-adapter.ts proves itself when it is run, without a test runner', async () => {
  vi.spyOn(process, 'argv', 'get').mockReturnValue([process.execPath, `${ROOT}examples/own-adapter.ts`])
  vi.resetModules()
  await import('../../examples/own-adapter.js')
  expect(printed).toEqual(adapterCases.map(({ name }) => `the adapter ${name}`))
})

test('examples/sqlite.ts keeps the tickets, the outbox and the record of an order together', async () => {
  const { server, db } = await import('../../examples/sqlite.js')
  const port = await portOf(server)
  const count = (table: string) => db.prepare(`SELECT count(*) AS rows FROM ${table}`).get()
  onTestFinished(async () => {
    server.close()
    db.close()
  })
  const order = orderCreated({ id: 'ord_1' })
  expect(await post(port, order)).toEqual(HANDLED)
  expect(await post(port, order)).toEqual(DUPLICATE)
  expect([count('tickets'), count('outbox')]).toMatchObject([{ rows: 1 }, { rows: 1 }])
  // A ticket that already exists: the whole order is rolled back, and delivered again.
  const twice = {
    ...orderCreated({ id: 'ord_2' }),
    data: { ...order.data, order: { ...order.data.order, id: 'ord_2' } },
  }
  expect(await post(port, twice)).toEqual(FAILED)
  expect([count('tickets'), count('outbox')]).toMatchObject([{ rows: 1 }, { rows: 1 }])
  expect(printed).toEqual(['order ord_1: 1 tickets', expect.stringMatching(/UNIQUE constraint failed/)])
})

// Those of Postgres are interrupted at every call: test/examples/interruptions.test.ts.
onMysql('examples/mysql.ts', () => {
  const database = testMysqlDatabase()

  test('writes each order once, in the transaction of its record', async () => {
    vi.stubEnv('DATABASE_URL', database.url)
    const { server, pool } = await import('../../examples/mysql.js')
    const port = await portOf(server)
    onTestFinished(async () => {
      server.close()
      await pool.end()
    })
    const order = orderCreated({ id: 'ord_1' })
    expect(await post(port, order)).toEqual(HANDLED)
    expect(await post(port, order)).toEqual(DUPLICATE)
    await database.query("INSERT INTO orders VALUES ('ord_2', 1)")
    expect(await post(port, orderCreated({ id: 'ord_2' }))).toEqual(FAILED)
    expect(await database.query('SELECT * FROM orders ORDER BY id')).toEqual([
      { id: 'ord_1', total_cents: 5400 },
      { id: 'ord_2', total_cents: 1 },
    ])
    const row = "CONVERT(CONCAT_WS(' ', event_key, state, failure) USING utf8mb4)"
    expect(
      await database.query(`SELECT ${row} AS event FROM tix_webhooks_events ORDER BY event_key`),
    ).toEqual([
      { event: 'orders/order.created/ord_1 handled' },
      { event: 'orders/order.created/ord_2 released failing' },
    ])
    expect(printed[0]).toBe('order ord_1: 5400 cents')
  })
})

test('the demo runs in full on each framework and ends by itself', async () => {
  const { stdout } = await promisify(execFile)('npm', ['run', '--silent', 'demo'], { cwd: ROOT })
  const [start = '', ...chapters] = stdout.trim().split('\n\n')
  expect(start).toMatch(/^The ticketing service listens on http:\/\/127\.0\.0\.1:\d+, and sends to\n/)
  expect(chapters.pop()).toMatch(
    /^Next, .+\n(?: {2}npm install .+\n)+ {2}npx tix-webhooks secret >> \.env .+/,
  )
  const told = chapters.map((chapter) => {
    const rows = chapter.split('\n').slice(1)
    return [...new Set(rows.map((row) => row.trim().split(/ {2,}/).slice(1).join(' | ')))]
  })
  expect(told).toEqual([
    [],
    ['200 handled | event.published'],
    ['200 handled | 2 tickets mailed, attempt 1'],
    ['200 duplicate | no handler ran'],
    ['500 failed | the handler ran and threw'],
    [
      '10 × 500 failed | 10 × the handler ran and threw',
      '3 × 500 failed, 200 parked | 4 × the handler ran and threw',
    ],
    ['replay: handled | 3 tickets mailed, attempt 12', 'replay: handled | 3 tickets mailed, attempt 6'],
    ['failed after 11 attempts', 'delivered after 5 attempts'],
    ['200 handled | event.cancelled'],
    ['2 × 401 unauthenticated | no handler ran'],
  ])
  const tellers = chapters.slice(1).map((chapter) => chapter.match(/^ {2}\w+/gm))
  expect(new Set(tellers.map(String))).toEqual(new Set(['  Express,  Fastify,  Hono']))
})
