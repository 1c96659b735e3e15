import { ddl } from 'tix-webhooks/postgres'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { atOnce } from '../../../support/at-once.js'
import { orderCreated } from '../../../support/deliveries.js'
import { onPostgres } from '../../../support/on-servers.js'
import {
  type ClientOptions,
  INBOX_CLIENTS,
  type InboxClient,
  type OpenClient,
} from '../../../support/postgres-clients.js'
import { testDatabase } from '../../../support/postgres-database.js'
import { endpoint } from '../../../support/postgres-endpoint.js'
import { deferred } from '../../../support/promises.js'
import { SOON_HEADER } from '../../../support/retry-after.js'
import { startProxy, type TcpProxy } from '../../../support/tcp-proxy.js'

const HANDLED = { status: 200, outcome: 'handled' }
const DUPLICATE = { status: 200, outcome: 'duplicate' }
const UNAVAILABLE = { status: 503, outcome: 'unavailable', retryAfter: SOON_HEADER }

const isCommit = (chunk: Buffer): boolean => /\bcommit\b/i.test(chunk.toString('latin1'))

/** A database of its own, a proxy before it, and an endpoint on it. */
function stageOf(library: InboxClient) {
  const database = testDatabase('CREATE TABLE effects (id text)', ddl)
  const effects = (): Promise<unknown[]> => database.column('SELECT id FROM effects ORDER BY id')

  beforeEach(() => database.query('TRUNCATE effects, tix_webhooks_inbox'))

  async function proxied(): Promise<TcpProxy> {
    const { hostname, port } = new URL(database.url)
    const proxy = await startProxy({ host: hostname, port: Number(port || 5432) })
    onTestFinished(() => proxy.close())
    return proxy
  }

  /** An endpoint whose handler writes the order's id, and then does `work`. */
  async function writing(
    work: (client: OpenClient, tx: unknown) => unknown,
    options: ClientOptions & { timeoutSeconds?: number } = {},
  ) {
    const client = library.open(database, options)
    const { send, reports } = await endpoint({
      inbox: client.inbox(),
      timeoutSeconds: options.timeoutSeconds ?? 15,
      on: {
        'order.created': async (event, ctx) => {
          await client.run(ctx.tx, `INSERT INTO effects VALUES ('${event.data.order.id}')`)
          await work(client, ctx.tx)
        },
      },
    })
    return { send, reports }
  }

  return { name: library.name, database, effects, proxied, writing }
}

/** Delivers again while the server has not seen yet that the connection of the delivery before is gone. */
async function settled<Answer extends { readonly outcome: unknown }>(
  send: () => Promise<Answer>,
): Promise<Answer> {
  for (;;) {
    const answer = await send()
    if (answer.outcome !== 'in_flight') return answer
  }
}

onPostgres.each(INBOX_CLIENTS)('a connection that breaks under postgresInbox over $name', (library) => {
  const { database, effects, proxied, writing } = stageOf(library)
  const recorded = (): Promise<unknown[]> => database.column('SELECT key FROM tix_webhooks_inbox')

  test('and takes the reply to COMMIT with it is no 2xx, and the next delivery is a duplicate', async () => {
    const proxy = await proxied()
    const { send, reports } = await writing(() => {}, { port: proxy.port })
    const order = orderCreated({ id: 'unknown' })
    const isLost = proxy.cutAfterRequest(isCommit)
    expect(await send(order)).toEqual(UNAVAILABLE)
    await isLost
    expect(reports).toEqual([expect.objectContaining({ code: 'store_unavailable' })])
    expect(await send(order)).toEqual(DUPLICATE)
    expect([await effects(), await recorded()]).toEqual([['unknown'], ['test/order.created/unknown']])
  })

  test('and takes the COMMIT with it is no 2xx, and the next delivery runs', async () => {
    const proxy = await proxied()
    let isFirst = true
    const { send, reports } = await writing(
      () => {
        if (isFirst) proxy.blackHole()
        isFirst = false
      },
      { port: proxy.port },
    )
    const order = orderCreated({ id: 'undone' })
    const answer = send(order)
    // The first bytes after the INSERT.
    await proxy.nextRequest(
      (chunk) =>
        !chunk.includes('INSERT') &&
        /commit|txid_current_if_assigned\(\) WHEN/i.test(chunk.toString('latin1')),
    )
    proxy.cut()
    expect(await answer).toEqual(UNAVAILABLE)
    expect([await effects(), await recorded()]).toEqual([[], []])
    expect(reports).toEqual([expect.objectContaining({ code: 'store_unavailable' })])
    await proxy.pass()
    expect(await settled(() => send(order))).toEqual(HANDLED)
    expect(await effects()).toEqual(['undone'])
  })

  test('in a statement of the handler is no 2xx, and the next delivery runs', async () => {
    const asked = deferred()
    let isFirst = true
    const { send, reports } = await writing(async (client, tx) => {
      if (!isFirst) return
      isFirst = false
      await client.run(tx, "SET LOCAL application_name = 'to be ended'")
      const sleeping = client.run(tx, 'SELECT pg_sleep(600)')
      asked.resolve()
      await sleeping
    })
    const order = orderCreated({ id: 'ended' })
    const answer = send(order)
    await asked.promise
    const end =
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'to be ended' AND query LIKE '%pg_sleep%'"
    while ((await database.query(end)).length === 0);
    const { status } = await answer
    expect([500, 503]).toContain(status)
    expect(reports).toHaveLength(1)
    expect([await effects(), await recorded()]).toEqual([[], []])
    expect(await settled(() => send(order))).toEqual(HANDLED)
    expect(await effects()).toEqual(['ended'])
  })
})

onPostgres('a connection that breaks under postgresInbox, over each library,', () => {
  const stages = INBOX_CLIENTS.map(stageOf)

  test('and hangs instead is answered by the deadline, and the event runs when it is gone', () =>
    atOnce(stages, async ({ effects, proxied, writing }) => {
      const proxy = await proxied()
      const { send, reports } = await writing(() => {}, { port: proxy.port, timeoutSeconds: 1 })
      const order = orderCreated({ id: 'patient' })
      expect(await send(orderCreated({ id: 'before' }))).toEqual(HANDLED)
      proxy.blackHole()
      expect(await send(order)).toEqual(UNAVAILABLE)
      expect(reports[0]?.message).toMatch(/had not opened a transaction by the deadline \(timeoutSeconds\)/)
      await proxy.pass()
      let answer = await send(order)
      while (answer.status === 503) answer = await send(order)
      expect(answer).toEqual(HANDLED)
      expect(await effects()).toEqual(['before', 'patient'])
    }))

  test('and hangs at COMMIT is answered by the deadline, with no 2xx', () =>
    atOnce(stages, async ({ effects, proxied, writing }) => {
      const proxy = await proxied()
      let isFirst = true
      const { send, reports } = await writing(
        () => {
          if (isFirst) proxy.blackHole()
          isFirst = false
        },
        { port: proxy.port, timeoutSeconds: 1 },
      )
      const order = orderCreated({ id: 'hung' })
      expect(await send(order)).toEqual(UNAVAILABLE)
      expect(reports[0]?.message).toMatch(/the database has not confirmed the commit in time/)
      await proxy.pass()
      let answer = await send(order)
      while (answer.status === 503) answer = await send(order)
      expect(answer).toEqual(HANDLED)
      expect(await effects()).toEqual(['hung'])
    }))
})
