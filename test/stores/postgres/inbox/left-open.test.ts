import type { TransactionSql } from 'postgres'
import { ddl, postgresInbox } from 'tix-webhooks/postgres'
import { beforeEach, expect, test } from 'vitest'
import { orderCreated } from '../../../support/deliveries.js'
import { onPostgres } from '../../../support/on-servers.js'
import { openPostgresJs } from '../../../support/postgres-clients.js'
import { testDatabase } from '../../../support/postgres-database.js'
import { endpoint } from '../../../support/postgres-endpoint.js'
import { never } from '../../../support/promises.js'

const MAX = 2

type Work = (tx: TransactionSql) => unknown

onPostgres('what a handler leaves open in postgresInbox over postgres.js', () => {
  const database = testDatabase('CREATE TABLE effects (id text PRIMARY KEY)', ddl)
  beforeEach(() => database.query('TRUNCATE effects, tix_webhooks_events'))

  async function handling(work: Work) {
    return endpoint({
      inbox: postgresInbox(openPostgresJs(database, { max: MAX })),
      on: {
        'order.created': async (event, { tx }) => {
          if (event.data.order.id === 'other') await tx`SELECT 1`
          else await work(tx as unknown as TransactionSql)
        },
      },
    })
  }

  test.each<[string, Work, RegExp]>([
    [
      'a savepoint',
      (tx) => void tx.savepoint((inner) => inner`INSERT INTO effects VALUES ('a')`.then(never)),
      /returned while a savepoint/,
    ],
    ['a COPY that is written', (tx) => tx`COPY effects FROM STDIN`.writable(), /no COPY/],
    ['a COPY that is read', (tx) => tx`COPY effects TO STDOUT`.readable(), /no COPY/],
    ['a cursor', (tx) => void tx`SELECT generate_series(1, 9)`.cursor(2), /no cursor/],
  ])('costs no connection and no effect: %s', async (_, work, message) => {
    const { send, reports } = await handling(work)
    // More often than there are connections: each that is lost for good would be missed.
    for (let time = 0; time <= MAX; time++) {
      expect((await send(orderCreated({ id: `left ${time}` }))).status).toBeGreaterThanOrEqual(500)
      expect(reports.at(-1)?.message).toMatch(message)
      expect(await database.column('SELECT id FROM effects')).toEqual([])
    }
    expect((await send(orderCreated({ id: 'other' }))).outcome).toBe('handled')
  })

  test('rejects a savepoint in a handler that has returned', async () => {
    const left: Promise<unknown>[] = []
    const { send } = await handling((tx) => {
      left.push(tx.savepoint(() => never()).catch((error: unknown) => error))
    })
    // The first run sends more, in which a savepoint may begin.
    for (let time = 0; time <= MAX; time++) await send(orderCreated({ id: `left ${time}` }))
    for (const error of await Promise.all(left)) expect(error).toBeInstanceOf(Error)
  })
})
