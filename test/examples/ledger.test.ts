/** @module-tag slow */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { sampleEvent } from 'tix-webhooks/testing'
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { SECRET, sign } from '../support/deliveries.js'
import { inOwnFolder, schemaUrl } from '../support/examples.js'
import { portOf } from '../support/http.js'
import { onPostgres } from '../support/on-servers.js'
import { testDatabase } from '../support/postgres-database.js'
import { deliver } from '../support/raw-bytes-harness.js'
import { ROOT } from '../support/root.js'

const TOKEN = 'a token of at least thirty-two letters'
const BUYER = 'buyer@example.com'
const MISSING = { status: 404, text: '{"error":"There is no such event."}' }
const run = promisify(execFile)

inOwnFolder()

onPostgres('examples/ledger.ts', () => {
  const database = testDatabase()
  let example: typeof import('../../examples/ledger.js')
  let port = 0

  beforeAll(async () => {
    vi.stubEnv('DATABASE_URL', schemaUrl(database))
    vi.stubEnv('TIX_SIGNING_SECRET', SECRET)
    vi.stubEnv('LEDGER_TOKEN', TOKEN)
    vi.stubEnv('PORT', '0')
    expect(await script('migrate')).toEqual({ migrated: true })
    example = await import('../../examples/ledger.js')
    const { server } = example
    if (server === undefined) throw new Error('It is a script.')
    port = await portOf(server)
  })
  afterAll(async () => {
    vi.unstubAllEnvs()
    example?.server?.close()
    await example?.pool.end()
  })
  beforeEach(() => {
    vi.spyOn(console, 'error').mockImplementation(() => {})
  })

  async function send(event: object | string): Promise<string> {
    return JSON.parse((await deliver(port, await sign(event))).text).outcome
  }
  async function ask(request: string, authorization?: string): Promise<{ status: number; text: string }> {
    const [method = '', path] = request.split(' ')
    const headers = authorization === undefined ? {} : { authorization }
    const response = await fetch(`http://127.0.0.1:${port}/ledger${path}`, { method, headers })
    return { status: response.status, text: await response.text() }
  }
  async function route(request: string): Promise<unknown> {
    const { status, text } = await ask(request, `Bearer ${TOKEN}`)
    return status === 200 ? JSON.parse(text) : status
  }
  const start = (...args: string[]) =>
    run(process.execPath, ['--import', 'tsx', 'examples/ledger.ts', ...args], {
      cwd: ROOT,
      env: { ...process.env, LEDGER_TOKEN: '' },
    })
  const script = async (...args: string[]): Promise<unknown> => JSON.parse((await start(...args)).stdout)
  const breakHandler = () => database.query('ALTER TABLE orders RENAME TO away')
  const deployFix = () => database.query('ALTER TABLE away RENAME TO orders')
  const order = (id: string) => sampleEvent('order.created', { data: { order: { id, buyer_email: BUYER } } })

  test('lists what failed by order and by cause, and replays one by the route and its group by both', async () => {
    await breakHandler()
    for (const id of ['ord_1', 'ord_2', 'ord_3', 'ord_1']) expect(await send(order(id))).toBe('failed')
    expect(await send('{')).toBe('unprocessable')

    const all = (await route('GET /list')) as { groups: { group: string; count: number }[]; events: object[] }
    expect(all.groups).toMatchObject([
      { code: 'not_json', count: 1 },
      {
        code: 'handler_failed',
        count: 3,
        kind: 'order.created',
        message: expect.stringContaining('relation "orders" does not exist'),
      },
    ])
    expect(all.events).toHaveLength(4)
    for (const event of all.events) expect(event).not.toHaveProperty('rawBody')
    expect(JSON.stringify(all)).not.toContain(BUYER)
    const group = String(all.groups[1]?.group)
    expect(await route('GET /list?orderId=ord_1')).toMatchObject({
      events: [{ orderId: 'ord_1', state: 'failing', attempts: 2, failure: { group, count: 2 } }],
    })
    const key = 'orders/order.created/ord_1'
    expect(await route(`GET /show?key=${key}`)).toMatchObject({ body: expect.stringContaining(BUYER) })

    expect(await route(`POST /replay?key=${key}`)).toEqual([
      { key, outcome: 'failed', code: 'handler_failed' },
    ])
    await deployFix()
    expect(await route(`POST /replay?key=${key}`)).toEqual([{ key, outcome: 'handled' }])
    expect(await route(`GET /show?key=${key}`)).toEqual(expect.objectContaining({ state: 'handled' }))
    expect(await ask(`POST /replay?key=${key}`, `Bearer ${TOKEN}`)).toEqual(MISSING)
    for (const request of ['GET /show?key=x', 'POST /discard?key=x&reason=a+test']) {
      expect(await ask(request, `Bearer ${TOKEN}`)).toEqual(MISSING)
    }
    const replay = start('replay', '--key', key)
    await expect(replay).rejects.toMatchObject({ code: 1, stderr: 'There is no such event.\n' })
    expect(await send(order('ord_1'))).toBe('duplicate')

    expect(await route(`POST /replay?group=${group}&limit=1`)).toEqual([
      { key: 'orders/order.created/ord_2', outcome: 'handled' },
    ])
    expect(await script('replay', '--group', group, '--limit', '5')).toEqual([
      { key: 'orders/order.created/ord_3', outcome: 'handled' },
    ])
    expect(await database.column('SELECT id FROM orders ORDER BY id')).toEqual(['ord_1', 'ord_2', 'ord_3'])
    const left = (await route('GET /list')) as { events: { key: string }[] }
    expect(left.events).toMatchObject([{ failure: { code: 'not_json' }, kind: '' }])
    expect(await route(`POST /discard?key=${left.events[0]?.key}`)).toBe(400)
    expect(await route(`POST /discard?key=${left.events[0]?.key}&reason=a+test`)).toEqual({ is: 'discarded' })
    expect(await route('GET /list')).toEqual({ groups: [], events: [] })
  })

  test('parks an order at the eighth attempt, and keeps it parked until a replay', async () => {
    await breakHandler()
    for (let attempt = 1; attempt < 8; attempt++) expect(await send(order('ord_4'))).toBe('failed')
    expect(await send(order('ord_4'))).toBe('parked')
    await deployFix()
    expect(await send(order('ord_4'))).toBe('parked')
    expect(await route('GET /list?state=parked')).toMatchObject({
      events: [{ orderId: 'ord_4', attempts: 8 }],
    })
    expect(await route('POST /replay?key=orders/order.created/ord_4')).toMatchObject([{ outcome: 'handled' }])
    expect(await database.column("SELECT id FROM orders WHERE id = 'ord_4'")).toEqual(['ord_4'])
  })

  test('refuses all but the team, and says nothing of what failed', async () => {
    await breakHandler()
    await send(order('ord_5'))
    await deployFix()
    const key = 'orders/order.created/ord_5'
    for (const request of ['GET /list', `GET /show?key=${key}`, 'POST /replay?group=x', 'PUT /']) {
      for (const authorization of [undefined, '', 'Bearer', 'Bearer ', TOKEN, `Bearer ${TOKEN}x`]) {
        expect(await ask(request, authorization)).toEqual({ status: 401, text: 'Unauthorized' })
      }
    }
    expect(await route('GET /list?orderId=ord_5')).toMatchObject({ events: [{ attempts: 1 }] })
  })

  test('answers 503 without the error while it has no tables, which only migrate makes', async () => {
    await database.query('ALTER TABLE tix_webhooks_events RENAME TO lost')
    expect(await ask('GET /list', `Bearer ${TOKEN}`)).toEqual({
      status: 503,
      text: '{"error":"The database cannot be used: see the log."}',
    })
    await expect(start('list')).rejects.toMatchObject({ code: 1, stdout: '' })
    await database.query('ALTER TABLE lost RENAME TO tix_webhooks_events')
  })

  test('does not serve without a token', async () => {
    await expect(start()).rejects.toThrow(/LEDGER_TOKEN is missing or short/)
  })
})
