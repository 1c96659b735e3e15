import { memoryFailures } from 'tix-webhooks'
import { ddl } from 'tix-webhooks/postgres'
import { beforeEach, expect, test, vi } from 'vitest'
import { orderCreated } from '../../../support/deliveries.js'
import { onPostgres } from '../../../support/on-servers.js'
import { type ClientOptions, INBOX_CLIENTS, type OpenClient } from '../../../support/postgres-clients.js'
import { testDatabase } from '../../../support/postgres-database.js'
import { endpoint } from '../../../support/postgres-endpoint.js'
import { deferred } from '../../../support/promises.js'
import { SOON_HEADER } from '../../../support/retry-after.js'

const HANDLED = { status: 200, outcome: 'handled' }
const UNAVAILABLE = { status: 503, outcome: 'unavailable', retryAfter: SOON_HEADER }

onPostgres.each(INBOX_CLIENTS)('a statement that fails in postgresInbox over $name', (library) => {
  const database = testDatabase(
    'CREATE TABLE effects (id text PRIMARY KEY)',
    'CREATE TABLE tickets (id text, order_id text REFERENCES effects (id) DEFERRABLE INITIALLY DEFERRED)',
    'CREATE TABLE seats (id int PRIMARY KEY, taken int NOT NULL)',
    ddl,
  )
  const effects = (): Promise<unknown[]> => database.column('SELECT id FROM effects ORDER BY id')
  const recorded = (): Promise<unknown[]> => database.column('SELECT key FROM tix_webhooks_inbox')

  beforeEach(async () => {
    await database.query('TRUNCATE effects, tickets, seats, tix_webhooks_inbox')
    await database.query("INSERT INTO effects VALUES ('taken')")
  })

  type Work = (client: OpenClient, tx: unknown, id: string) => Promise<unknown>

  async function handling(work: Work, options: ClientOptions = {}) {
    const client = library.open(database, options)
    const failures = memoryFailures()
    const { send, reports } = await endpoint({
      inbox: client.inbox(),
      failures,
      on: { 'order.created': (event, ctx) => work(client, ctx.tx, event.data.order.id) },
    })
    /** After the answer, because the guard itself has failed. */
    const expectKept = (): Promise<void> =>
      vi.waitFor(async () => {
        expect(await failures.list()).toMatchObject([{ code: 'rolled_back', attempts: 1 }])
      })
    return { send, reports, expectKept }
  }

  const insert = (client: OpenClient, tx: unknown, id: string) =>
    client.run(tx, `INSERT INTO effects VALUES ('${id}')`)

  const swallow = (): void => {}

  test.each<[string, Work]>([
    [
      'at its end',
      async (client, tx, id) => {
        await insert(client, tx, id)
        await insert(client, tx, 'taken').catch(swallow)
      },
    ],
    [
      'and the rest too',
      async (client, tx, id) => {
        await insert(client, tx, 'taken').catch(swallow)
        await insert(client, tx, id).catch(swallow)
      },
    ],
    [
      'and does not wait for it',
      async (client, tx, id) => {
        await insert(client, tx, id)
        void insert(client, tx, 'taken').catch(swallow)
      },
    ],
  ])('is never acknowledged when the handler swallows it %s, as all was rolled back', async (_, work) => {
    let isFailing = true
    const { send, reports, expectKept } = await handling((client, tx, id) =>
      (isFailing ? work : insert)(client, tx, id),
    )
    const order = orderCreated({ id: 'written' })
    expect(await send(order)).toEqual(UNAVAILABLE)
    expect(await effects()).toEqual(['taken'])
    expect(await recorded()).toEqual([])
    expect(reports).toEqual([expect.objectContaining({ code: 'rolled_back' })])
    await expectKept()
    expect(reports[0]?.message).toMatch(/rolled back all that the handler had written.*SAVEPOINT/)
    isFailing = false
    expect(await send(order)).toEqual(HANDLED)
    expect(await effects()).toEqual(['taken', 'written'])
  })

  // A library that wraps a client is refused these statements.
  const canEnd = library.name !== 'Drizzle on pg'

  test.each(['BEGIN', 'START TRANSACTION', 'COMMIT', 'end', ' rollback', 'ABORT', 'ROLLBACK WORK'])(
    'is %s itself where a library wraps the client, and nothing is written',
    async (statement) => {
      if (canEnd) return
      const { send, reports } = await handling(async (client, tx, id) => {
        await insert(client, tx, id)
        await client.run(tx, statement)
      })
      expect(await send(orderCreated({ id: 'written' }))).toEqual({ status: 500, outcome: 'failed' })
      expect(String(reports[0]?.cause ?? reports[0])).toMatch(/can neither begin nor end one.*SAVEPOINT/)
      expect(await effects()).toEqual(['taken'])
      expect(await recorded()).toEqual([])
    },
  )

  test.runIf(canEnd).each([
    ['ROLLBACK', HANDLED, ['taken', 'written']],
    // Its writes are committed with the record, so they are there once.
    ['COMMIT', { status: 200, outcome: 'duplicate' }, ['taken', 'written']],
    ['COMMIT and START TRANSACTION', { status: 200, outcome: 'duplicate' }, ['taken', 'written']],
    ['ROLLBACK and START TRANSACTION', HANDLED, ['taken', 'written']],
  ])(
    'is not the only way to end it: a handler that sends %s by itself is told so',
    async (end, next, kept) => {
      let isFirst = true
      const { send, reports } = await handling(async (client, tx, id) => {
        await insert(client, tx, id)
        for (const statement of isFirst ? end.split(' and ') : []) await client.run(tx, statement)
        isFirst = false
      })
      const order = orderCreated({ id: 'written' })
      expect(await send(order)).toEqual(UNAVAILABLE)
      expect(reports[0]?.message).toMatch(/ended the transaction of the inbox itself.*SAVEPOINT/)
      expect(await send(order)).toEqual(next)
      expect(await effects()).toEqual(kept)
    },
  )

  test('fails the delivery at COMMIT too, when it is a deferred constraint', async () => {
    let parent = 'nobody'
    const { send, reports, expectKept } = await handling(async (client, tx, id) => {
      await insert(client, tx, id)
      await client.run(tx, `INSERT INTO tickets VALUES ('tik', '${parent}')`)
    })
    const order = orderCreated({ id: 'deferred' })
    expect(await send(order)).toEqual(UNAVAILABLE)
    expect(await effects()).toEqual(['taken'])
    expect(reports).toEqual([expect.objectContaining({ code: 'rolled_back' })])
    await expectKept()
    expect(reports[0]?.message).toMatch(/a deferred constraint failed at COMMIT/)
    parent = 'taken'
    expect(await send(order)).toEqual(HANDLED)
    expect(await effects()).toEqual(['deferred', 'taken'])
  })

  test('of a serialization failure leaves no effect, and the retry has exactly one', async () => {
    await database.query('INSERT INTO seats SELECT n, 0 FROM generate_series(1, 2) AS n')
    const first = deferred()
    let inside = 0
    // Each reads what the other one writes: one of them has to fail, at a statement of its own or at COMMIT.
    const { send } = await handling(
      async (client, tx, id) => {
        await client.run(tx, 'SELECT sum(taken) FROM seats')
        if (++inside === 2) first.resolve()
        await first.promise
        await client.run(tx, `UPDATE seats SET taken = taken + 1 WHERE id = ${id === 'left' ? 1 : 2}`)
        await insert(client, tx, id)
      },
      { settings: { default_transaction_isolation: 'serializable' } },
    )
    const orders = [orderCreated({ id: 'left' }), orderCreated({ id: 'right' })]
    const answers = await Promise.all(orders.map(send))
    expect(answers.map(({ status }) => status).sort()).not.toEqual([200, 200])
    for (const order of orders) {
      let answer = await send(order)
      while (answer.status !== 200) answer = await send(order)
    }
    expect(await database.column('SELECT taken FROM seats ORDER BY id')).toEqual([1, 1])
    expect(await effects()).toEqual(['left', 'right', 'taken'])
  })
})
