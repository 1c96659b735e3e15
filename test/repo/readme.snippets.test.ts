import { createServer, Server } from 'node:http'
import { createAdaptorServer } from '@hono/node-server'
import express, { type Express } from 'express'
import type { EventKind, JsonObject } from 'tix-webhooks'
import { signedDelivery } from 'tix-webhooks/testing'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { snippetsFolder, snippetsOf } from '../support/compile.js'
import { SECRET } from '../support/deliveries.js'
import { portOf } from '../support/http.js'
import { onPostgres, postgresVariables } from '../support/on-servers.js'
import { testDatabase } from '../support/postgres-database.js'

const SNIPPETS = [
  ...snippetsOf('README.md', 'ts'),
  ...snippetsOf('README.md', 'js'),
  ...snippetsOf('docs/handlers.md', 'ts'),
]

/** The functions that the snippets expect in the reader's own app, and the calls to them. */
const OWN = ['handleOrder', 'issueTickets', 'refreshListing', 'isNight', 'book', 'move', 'refund'] as const
let called: [string, unknown][] = []
let errors: unknown[] = []
let areBroken = false
/** Those that a snippet, or a test, starts. */
let servers: Server[] = []

beforeEach(() => {
  called = []
  errors = []
  areBroken = false
  servers = []
  const { listen } = Server.prototype
  vi.spyOn(Server.prototype, 'listen').mockImplementation(function (this: Server, ...args) {
    servers.push(this)
    return listen.apply(this, args as Parameters<typeof listen>)
  })
  vi.stubEnv('TIX_SIGNING_SECRET', SECRET)
  for (const name of OWN) {
    vi.stubGlobal(name, async (...args: unknown[]) => {
      if (areBroken) throw new Error(`${name} is broken`)
      called.push([name, args[0]])
    })
  }
  vi.stubGlobal('isNight', () => false)
  for (const method of ['info', 'log'] as const) {
    vi.spyOn(console, method).mockImplementation((line: unknown) => void called.push([method, line]))
  }
  vi.spyOn(console, 'error').mockImplementation((line: unknown) => void errors.push(line))
})

afterEach(() => {
  for (const server of servers) server.close()
  vi.unstubAllEnvs()
  vi.unstubAllGlobals()
  vi.restoreAllMocks()
})

/**
 * Loads a snippet unchanged. Its top-level names are exported, and a port that it listens on is a free one.
 *
 * @param parts texts that only this snippet contains
 */
async function load<Names>(...parts: readonly string[]): Promise<Names> {
  const found = SNIPPETS.filter((code) => parts.every((part) => code.includes(part)))
  if (found.length !== 1) throw new Error(`${found.length} snippets contain ${parts.join(' and ')}`)
  const code = (found[0] ?? '')
    .replaceAll(/^const /gm, 'export const ')
    .replaceAll('listen(3000)', 'listen(0)')
    .replaceAll('port: 3000', 'port: 0')
  const { write, remove } = snippetsFolder()
  onTestFinished(remove)
  return await import(/* @vite-ignore */ write('snippet', code))
}

/** Sends an event as the service does, and expects it to be handled. */
async function deliverTo(port: number, kind = 'order.created', data?: JsonObject): Promise<void> {
  const delivery = data
    ? await signedDelivery(kind, { secret: SECRET, data, exact: true })
    : await signedDelivery(kind as EventKind, { secret: SECRET })
  const response = await fetch(`http://127.0.0.1:${port}/hooks`, delivery)
  expect([response.status, await response.json(), errors]).toEqual([200, { outcome: 'handled' }, []])
}

/** The port of the first server. */
async function port(): Promise<number> {
  await expect.poll(() => servers).not.toEqual([])
  return portOf(servers[0] as Server)
}

/** Serves a web-standard handler on a socket. */
function serveFetch(POST: (request: Request) => Promise<Response>): void {
  createAdaptorServer({ fetch: POST, createServer }).listen(0)
}

test('every snippet of code is run by a test of this file', () => {
  expect(SNIPPETS).toHaveLength(9)
})

test('the line runs an order, and an event of a group', async () => {
  const { app } = await load<{ app: Express }>('or /fastify, or /hono')
  app.listen(0)
  await deliverTo(await port())
  await deliverTo(await port(), 'event.published')
  expect(called).toEqual([
    ['issueTickets', expect.stringMatching(/^ord_/)],
    ['refreshListing', 'event.published'],
  ])
})

test.each([
  ['Express', 'app.listen(3000)', /^\d tickets for /],
  ['Fastify', 'tix-webhooks/fastify', /^ord_/],
  ['Hono, on Node', 'tix-webhooks/hono', /^ord_/],
])('the file for %s handles an order as it stands', async (name, part, logged) => {
  vi.spyOn(process.stdout, 'write').mockReturnValue(true)
  const { app } = await load<{ app: Express }>(part)
  await deliverTo(await port())
  expect(called).toContainEqual(['log', expect.stringMatching(logged)])
  if (name !== 'Express') return
  // A parser after the hooks serves the other routes.
  app.use(express.json())
  app.post('/other', (req, res) => void res.json(req.body))
  const json = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"parsed":true}' }
  const other = await fetch(`http://127.0.0.1:${await port()}/other`, json)
  expect(await other.json()).toEqual({ parsed: true })
})

test('the file for Next is built without the secret', async () => {
  vi.stubEnv('TIX_SIGNING_SECRET', undefined)
  const parts = ['tix-webhooks/fetch', 'console.log(event.data.order.id)']
  const { POST } = await load<{ POST(request: Request): Promise<Response> }>(...parts)
  vi.stubEnv('TIX_SIGNING_SECRET', SECRET)
  serveFetch(POST)
  await deliverTo(await port())
  expect(called).toEqual([['log', expect.stringMatching(/^ord_/)]])
})

describe('the handlers', () => {
  type Snippet = { POST(request: Request): Promise<Response> }

  test('book, discard, put off and leave to the fallback, as their comments say', async () => {
    const { POST } = await load<Snippet>('new RetryLater')
    const send = async (kind: string, data = {}) => {
      const delivery = await signedDelivery(kind, { secret: SECRET, data })
      const response = await POST(delivery.toRequest('/hooks'))
      return [response.status, (await response.json()).outcome, response.headers.get('retry-after')]
    }
    expect(await send('order.created')).toEqual([200, 'handled', null])
    expect(await send('order.created', { order: { total_cents: 0 } })).toEqual([200, 'discarded', null])
    vi.stubGlobal('isNight', () => true)
    expect(await send('order.created')).toEqual([503, 'retry_later', '3600'])
    vi.stubGlobal('isNight', () => {
      throw new Error('any other error')
    })
    expect(await send('order.created')).toEqual([500, 'failed', null])
    expect(await send('event.published')).toEqual([200, 'handled', null])
    expect(await send('venue.opened')).toEqual([200, 'handled', null])
    expect(called.map(([name]) => name)).toEqual(['book', 'info', 'info'])
  })

  test('get what their schemas make of the data', async () => {
    const { POST } = await load<Snippet>('schemas: {')
    serveFetch(POST)
    const rescheduled = { event: { id: 'evt_1' }, doors_at: '2026-06-01T20:00:00+02:00' }
    await deliverTo(await port(), 'event.rescheduled', rescheduled)
    await deliverTo(await port(), 'order.refunded', { order_id: 'ord_1', amount_cents: 100 })
    expect(called).toEqual([
      ['move', 'evt_1'],
      ['refund', 'ord_1'],
    ])
  })
})

test('the test passes its assertion', async () => {
  const asserted = vi.spyOn(console, 'assert').mockImplementation(() => {})
  await load('console.assert')
  expect(asserted.mock.calls).toEqual([[true]])
})

onPostgres('in production', () => {
  const database = testDatabase()

  // Its shutdown: test/proof/shutdown.recipes.test.ts.
  test('an order is recorded in Postgres, and one that fails is kept', async () => {
    vi.stubEnv('PGOPTIONS', database.settings())
    for (const [name, value] of Object.entries(postgresVariables())) vi.stubEnv(name, value)
    const before = process.listeners('SIGTERM')
    const { pool } = await load<{ pool: { end(): Promise<void> } }>('postgresStore(pool')
    onTestFinished(() => pool.end())
    // Not to run at the end of the test worker.
    for (const listener of process.listeners('SIGTERM')) {
      if (!before.includes(listener)) process.removeListener('SIGTERM', listener)
    }
    await deliverTo(await port())
    const key = expect.stringMatching(/^orders\/order\.created\/ord_/)
    expect(await database.column('SELECT event_key FROM tix_webhooks_events')).toEqual([key])
    expect(called[1]).toEqual(['info', 'handled'])

    areBroken = true
    const delivery = await signedDelivery('order.created', { secret: SECRET })
    const response = await fetch(`http://127.0.0.1:${await port()}/hooks`, delivery)
    expect(await response.json()).toEqual({ outcome: 'failed' })
    const failing = "SELECT event_key FROM tix_webhooks_events WHERE failure = 'failing'"
    expect(await database.column(failing)).toEqual([key])
  })
})
