import { StoreError } from 'tix-webhooks'
import { beforeEach, expect, test } from 'vitest'
import { orderCreated } from '../support/deliveries.js'
import { failedDelivery } from '../support/failed-delivery.js'
import { freePort } from '../support/free-port.js'
import { receiving } from '../support/receiving.js'
import { BACKENDS, claimOf, onceOf, type Pair } from './backends.js'

const lease = { key: 'k', token: 'a' }

/** Calls that write, or would. */
const writesOf = ({ store, inbox }: Pair, handler: () => void) => [
  () => store.claim(claimOf('k')),
  () => store.renew(lease, 1),
  () => store.complete(lease, 1_000),
  () => store.release(lease),
  () => store.fail(lease, failedDelivery({ key: 'k' })),
  () => inbox.once(onceOf('k'), async () => handler()),
  ...[store, inbox].flatMap((one) => [
    () => one.purge(),
    () => one.keep(failedDelivery()),
    () => one.forget('k'),
    () => one.ledger.discard('k', { reason: 'no' }),
  ]),
]
const readsOf = ({ store, inbox }: Pair) =>
  [store, inbox].flatMap((one) => [
    () => one.isHandled('k'),
    () => one.ledger.get('k'),
    () => one.ledger.list(),
    () => one.ledger.groups(),
    () => one.ledger.count(),
  ])
const checksOf = ({ store, inbox }: Pair) => [store, inbox].map((one) => () => one.check())

/** Each call rejects with this advice, which shows nothing of the connection, and the database's own error as its cause. */
async function expectEach(calls: readonly (() => unknown)[], message: RegExp): Promise<void> {
  for (const call of calls) {
    const error = await Promise.resolve(call()).then(
      () => expect.fail(`It resolved: ${call}`),
      (reason: unknown) => reason,
    )
    expect(error).toBeInstanceOf(StoreError)
    expect(error).toMatchObject({
      code: 'store_unavailable',
      message: expect.stringMatching(message),
      cause: expect.any(Error),
    })
    expect((error as Error).message).not.toMatch(/127\.0\.0\.1|localhost|hunter2|:\/\//)
  }
}

/** A receiver answers 503, and says why in one report. */
async function expect503({ store, inbox }: Pair, message: RegExp, handler: () => void): Promise<void> {
  for (const protection of [{ store }, { inbox }]) {
    const { send, records, reports } = receiving<unknown>({
      ...protection,
      namespace: 'n',
      on: { 'order.created': handler },
    })
    expect(await send(orderCreated())).toMatchObject({ outcome: 'unavailable' })
    expect(records).toMatchObject([{ status: 503 }])
    expect(reports.map(({ error }) => error.message)).toEqual([expect.stringMatching(message)])
  }
}

for (const { name, server, describe, prepare } of BACKENDS) {
  describe(`${name} that cannot be used`, () => {
    const database = prepare()
    // On SQLite the database is written only when the handler commits.
    const handler = () => (server === 'sqlite' ? undefined : expect.fail('It ran'))
    beforeEach(async () => {
      await database.open().inbox.migrate()
    })

    test('passes the check if it can, which keeps nothing', async () => {
      const { store } = database.open()
      await store.claim(claimOf('k'))
      await store.keep(failedDelivery())
      const user = await database.userWith?.(['SELECT', 'INSERT', 'UPDATE', 'DELETE'])
      const pair = database.open({ ...(user !== undefined && { user }) })
      for (const check of checksOf(pair)) await check()
      const before = await database.version()
      for (const check of checksOf(pair)) await check()
      expect(await database.version()).toEqual(before)
      if (user !== undefined) {
        const other = database.open({ user, table: 'another' })
        await expectEach([() => other.store.migrate()], /no rights on .*: the app's needs .* CREATE/)
      }
    })

    test('because the pool was closed, says so', async () => {
      const pair = database.open()
      // Statements that were prepared before are refused, too.
      for (const call of [...writesOf(pair, () => {}), ...readsOf(pair), ...checksOf(pair)]) await call()
      await pair.close()
      const closed = /^The (pool|database) is closed: drain the receiver/
      await expectEach([...writesOf(pair, handler), ...readsOf(pair), ...checksOf(pair)], closed)
      await expect503(pair, closed, handler)
    })

    // On MySQL it is a setting of the whole server: see the tests with a server of their own.
    if (server !== 'mysql') {
      test('because it is read-only, says so, and reads', async () => {
        const pair = database.open({ isReadOnly: true })
        const readOnly = /^This (SQLite )?database is read-only/
        await expectEach([...writesOf(pair, handler), ...checksOf(pair)], readOnly)
        await expect503(pair, readOnly, handler)
        for (const read of readsOf(pair)) await read()
      })
    }

    if (server !== 'sqlite') {
      test('because it is not there, says so', async () => {
        const port = await freePort()
        const gone = /^There is no (Postgres|server) at the host and port of the connection: is it up/
        const callsOf = (pair: Pair) => [...writesOf(pair, handler), ...readsOf(pair), ...checksOf(pair)]
        // Each on a pool of its own: one of mariadb does not give up at once, and the calls of a pool wait for each other.
        await Promise.all(
          callsOf(database.open()).map((_, i) =>
            expectEach(callsOf(database.open({ port })).slice(i, i + 1), gone),
          ),
        )
        const pair = database.open({ port })
        await expect503(pair, gone, handler)
      })

      test('because it gives the user no rights, says so', async () => {
        const pair = database.open({ user: (await database.userWith?.([])) as string })
        const forbidden = /^The user of this connection has no rights on .*tix_webhooks/
        await expectEach([...writesOf(pair, handler), ...readsOf(pair), ...checksOf(pair)], forbidden)
        await expect503(pair, forbidden, handler)
      })

      const needed = ['SELECT', 'INSERT', 'UPDATE', ...(server === 'mysql' ? ['DELETE'] : [])]
      test.each(needed)('because the user may not %s, is found by the check', async (right) => {
        const user = await database.userWith?.(needed.filter((one) => one !== right))
        await expectEach(checksOf(database.open({ user: user as string })), /has no rights on/)
      })
    }
  })
}
