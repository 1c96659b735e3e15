import { Discard, RetryLater } from 'tix-webhooks'
import { ddl } from 'tix-webhooks/postgres'
import { beforeEach, expect, test } from 'vitest'
import { orderCreated } from '../../support/deliveries.js'
import { onPostgres } from '../../support/on-servers.js'
import { INBOX_CLIENTS } from '../../support/postgres-clients.js'
import { testDatabase } from '../../support/postgres-database.js'
import { endpoint } from '../../support/postgres-endpoint.js'
import { deferred } from '../../support/promises.js'

const HANDLED = { status: 200, outcome: 'handled' }
const DUPLICATE = { status: 200, outcome: 'duplicate' }

onPostgres.each(INBOX_CLIENTS)('postgresInbox over $name', (library) => {
  const database = testDatabase('CREATE TABLE effects (id text)', ddl)
  const effects = (): Promise<unknown[]> => database.column('SELECT id FROM effects ORDER BY id')
  const recorded = (): Promise<unknown[]> =>
    database.column('SELECT key FROM tix_webhooks_inbox ORDER BY key COLLATE "C"')

  beforeEach(() => database.query('TRUNCATE effects, tix_webhooks_inbox'))

  /** An endpoint whose handler writes the order's id, and then does `work`. */
  async function writing(
    work: (id: string) => unknown = () => {},
    options: { key?: () => string | null } = {},
  ) {
    const client = library.open(database)
    const inbox = client.inbox()
    const contexts: object[] = []
    const { send, reports, records } = await endpoint({
      ...options,
      inbox,
      on: {
        'order.created': async (event, ctx) => {
          const { id } = event.data.order
          contexts.push(ctx)
          await client.run(ctx.tx, `INSERT INTO effects VALUES ('${id}')`)
          await work(id)
        },
      },
    })
    return { client, inbox, send, reports, records, contexts }
  }

  test('commits what the handler wrote together with the record of the event, once', async () => {
    const { send, contexts, reports } = await writing()
    const order = orderCreated({ id: 'one' })
    expect(await send(order)).toEqual(HANDLED)
    expect(await send(order)).toEqual(DUPLICATE)
    expect(await effects()).toEqual(['one'])
    expect(await recorded()).toEqual(['test/order.created/one'])
    expect(contexts).toEqual([expect.objectContaining({ deduplicated: true, key: 'test/order.created/one' })])
    expect(contexts[0]).not.toHaveProperty('attempt')
    expect(reports).toEqual([])
  })

  test.each([
    ['throws', () => new Error('no ledger today'), { status: 500, outcome: 'failed' }],
    [
      'asks for a retry',
      () => new RetryLater({ afterSeconds: 77 }),
      { status: 503, outcome: 'retry_later', retryAfter: '77' },
    ],
  ])('rolls back both when the handler %s, and runs it again', async (_, makeError, answer) => {
    let isFailing = true
    const { send } = await writing(() => {
      if (isFailing) throw makeError()
    })
    const order = orderCreated({ id: 'again' })
    expect(await send(order)).toEqual(answer)
    expect([await effects(), await recorded()]).toEqual([[], []])
    isFailing = false
    expect(await send(order)).toEqual(HANDLED)
    expect(await effects()).toEqual(['again'])
  })

  test('returns in flight to a second delivery at once, while the first one is in its transaction', async () => {
    const entered = deferred()
    const leave = deferred()
    const { send } = await writing(() => {
      entered.resolve()
      return leave.promise
    })
    const order = orderCreated({ id: 'held' })
    const first = send(order)
    await entered.promise
    // If it waited for the first one, this would never come back.
    expect(await send(order)).toEqual({ status: 503, outcome: 'in_flight', retryAfter: '5' })
    leave.resolve()
    expect(await first).toEqual(HANDLED)
    expect(await send(order)).toEqual(DUPLICATE)
    expect(await effects()).toEqual(['held'])
  })

  test('runs different events at the same time', async () => {
    const both = deferred()
    let inside = 0
    const { send } = await writing(() => {
      inside++
      if (inside === 2) both.resolve()
      return both.promise
    })
    const orders = [orderCreated({ id: 'left' }), orderCreated({ id: 'right' })]
    expect(await Promise.all(orders.map(send))).toEqual([HANDLED, HANDLED])
    expect(await effects()).toEqual(['left', 'right'])
  })

  test('rolls back what a discarding handler wrote, and records the discard', async () => {
    const { send, reports } = await writing(() => {
      throw new Discard('a test order')
    })
    const order = orderCreated({ id: 'unwanted' })
    expect(await send(order)).toEqual({ status: 200, outcome: 'discarded' })
    expect(await send(order)).toEqual(DUPLICATE)
    expect(await effects()).toEqual([])
    expect(await recorded()).toEqual(['test/order.created/unwanted'])
    expect(reports).toEqual([])
  })

  test('gives an event with a null key a plain transaction', async () => {
    let isFailing = false
    const { send, contexts } = await writing(
      () => {
        if (isFailing) throw new Error('rolled back')
      },
      { key: () => null },
    )
    const order = orderCreated({ id: 'plain' })
    expect([await send(order), await send(order)]).toEqual([HANDLED, HANDLED])
    isFailing = true
    expect(await send(order)).toEqual({ status: 500, outcome: 'failed' })
    expect(await effects()).toEqual(['plain', 'plain'])
    expect(await recorded()).toEqual([])
    expect(contexts[0]).toMatchObject({ deduplicated: false, key: null })
    expect(contexts[0]).not.toHaveProperty('attempt')
  })

  test('rolls back a discard with a null key, and records nothing', async () => {
    const { send } = await writing(
      () => {
        throw new Discard()
      },
      { key: () => null },
    )
    const order = orderCreated()
    expect(await send(order)).toEqual({ status: 200, outcome: 'discarded' })
    expect(await send(order)).toEqual({ status: 200, outcome: 'discarded' })
    expect([await effects(), await recorded()]).toEqual([[], []])
  })

  test('runs an event again when its record is past its retention', async () => {
    const { send } = await writing()
    const order = orderCreated({ id: 'old' })
    expect(await send(order)).toEqual(HANDLED)
    await database.query("UPDATE tix_webhooks_inbox SET expires_at = now() - interval '1 ms'")
    expect(await send(order)).toEqual(HANDLED)
    expect(await send(order)).toEqual(DUPLICATE)
    expect(await effects()).toEqual(['old', 'old'])
    expect(
      await database.column(
        "SELECT expires_at - handled_at = interval '7 days' AND handled_at > now() - interval '1 h' FROM tix_webhooks_inbox",
      ),
    ).toEqual([true])
  })

  test('keeps an event of one namespace from another', async () => {
    const client = library.open(database)
    const inbox = client.inbox()
    const on = {
      'order.created': async (_event: unknown, ctx: { tx: unknown }) => {
        await client.run(ctx.tx, "INSERT INTO effects VALUES ('namespaced')")
      },
    }
    const order = orderCreated()
    for (const namespace of ['north', 'south']) {
      const { send } = await endpoint({ inbox, namespace, on })
      expect([await send(order), await send(order)]).toEqual([HANDLED, DUPLICATE])
    }
    expect(await effects()).toEqual(['namespaced', 'namespaced'])
  })

  test('keeps its records in a table of your choice, in a schema of your choice', async () => {
    const client = library.open(database)
    const inbox = client.inbox({ table: `${database.schema}.Seen_Events` })
    await inbox.migrate()
    expect(await inbox.once({ key: 'k', retainMs: 60_000 }, async () => {})).toEqual({ status: 'handled' })
    expect(await inbox.once({ key: 'k', retainMs: 60_000 }, async () => {})).toEqual({ status: 'duplicate' })
    expect(await client.inbox().once({ key: 'k', retainMs: 60_000 }, async () => {})).toEqual({
      status: 'handled',
    })
    expect(await database.column(`SELECT key FROM ${database.schema}."Seen_Events"`)).toEqual(['k'])
  })

  test('lets one key be handled in two tables at the same time', async () => {
    const client = library.open(database)
    const [inbox, other] = [client.inbox(), client.inbox({ table: 'other_inbox' })]
    await other.migrate()
    const request = { key: 'both', retainMs: 60_000 }
    let inner: unknown
    const outer = await inbox.once(request, async () => {
      inner = [await inbox.once(request, async () => {}), await other.once(request, async () => {})]
    })
    expect([inner, outer]).toEqual([[{ status: 'in_flight' }, { status: 'handled' }], { status: 'handled' }])
  })

  test('purges what is past its retention, the oldest first and no more than asked for', async () => {
    const inbox = library.open(database).inbox()
    await database.query(
      `INSERT INTO tix_webhooks_inbox (key, expires_at)
       SELECT 'k' || n, now() + (n - 3) * interval '1 h' FROM generate_series(0, 4) AS n`,
    )
    expect(await inbox.purge({ limit: 2 })).toBe(2)
    expect(await recorded()).toEqual(['k2', 'k3', 'k4'])
    expect([await inbox.purge(), await inbox.purge()]).toEqual([2, 0])
    expect(await recorded()).toEqual(['k4'])
  })
})
