import { finished, pipeline } from 'node:stream/promises'
import type { TransactionSql } from 'postgres'
import { ddl, postgresInbox } from 'tix-webhooks/postgres'
import { beforeEach, expect, test } from 'vitest'
import { orderCreated } from '../../../support/deliveries.js'
import { onPostgres } from '../../../support/on-servers.js'
import { openPostgresJs } from '../../../support/postgres-clients.js'
import { testDatabase } from '../../../support/postgres-database.js'
import { endpoint } from '../../../support/postgres-endpoint.js'
import { deferred, never } from '../../../support/promises.js'

const MAX = 2

type Work = (tx: TransactionSql) => unknown

onPostgres('what a handler leaves open in postgresInbox over postgres.js', () => {
  const database = testDatabase('CREATE TABLE effects (id text PRIMARY KEY)', ddl)
  beforeEach(() => database.query('TRUNCATE effects, tix_webhooks_inbox'))

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

  const writable = async (tx: TransactionSql) => {
    const stream = await tx`COPY effects FROM STDIN`.writable()
    stream.write('a\n')
    return stream
  }
  /** More than a socket holds. */
  const readable = (tx: TransactionSql) =>
    tx`COPY (SELECT repeat('x', 1000) FROM generate_series(1, 20000)) TO STDOUT`.readable()
  const cursor = (tx: TransactionSql) => tx`SELECT generate_series(1, 9)`
  const failing = (work: Work): Work => {
    return async (tx) => {
      await work(tx)
      throw new Error('of the handler')
    }
  }
  const reading = async (rows: AsyncIterable<unknown>, then: () => void): Promise<void> => {
    for await (const _ of rows) return then()
  }
  const fail = (): never => {
    throw new Error('of the handler')
  }

  const NESTED = /returned while a nested transaction/
  const OPEN = /returned while a COPY or a cursor/
  const FAILED = /of the handler/
  const first = async (tx: TransactionSql) => {
    await cursor(tx).cursor(2)[Symbol.asyncIterator]().next()
  }
  const byFunction = (tx: TransactionSql) =>
    new Promise<void>((resolve) => {
      const read = (): Promise<never> => {
        resolve()
        return never()
      }
      cursor(tx)
        .cursor(2, read)
        .catch(() => {})
    })

  test.each<[string, Work, RegExp | undefined, string[]?]>([
    [
      'a savepoint',
      (tx) => void tx.savepoint((inner) => inner`INSERT INTO effects VALUES ('a')`.then(never)),
      NESTED,
    ],
    ['a COPY that is written', writable, OPEN],
    ['a COPY that is written, and fails', failing(writable), FAILED],
    [
      'a COPY that is written, whose end it does not await',
      async (tx) => void (await writable(tx)).end(),
      undefined,
      ['a'],
    ],
    ['a COPY that is read', readable, OPEN],
    ['a COPY that is read, and fails', async (tx) => reading(await readable(tx), fail), FAILED],
    ['a COPY that it reads in part', async (tx) => reading(await readable(tx), () => {}), undefined],
    ['a cursor', first, OPEN],
    ['a cursor, and fails', failing(first), FAILED],
    ['a cursor that it reads by a function', byFunction, OPEN],
    ['a cursor that it reads by a function, and fails', failing(byFunction), FAILED],
    ['a cursor that it reads in part', (tx) => reading(cursor(tx).cursor(2), () => {}), undefined],
  ])('costs no connection and no effect: %s', async (_, work, message, written = []) => {
    const { send, reports } = await handling(work)
    const status = message === undefined ? 200 : message === FAILED ? 500 : 503
    // More often than there are connections: each that is lost for good would be missed.
    for (let time = 0; time <= MAX; time++) {
      await database.query('TRUNCATE effects')
      expect((await send(orderCreated({ id: `left ${time}` }))).status).toBe(status)
      if (message !== undefined) expect(reports.at(-1)?.message).toMatch(message)
      expect(await database.column('SELECT id FROM effects')).toEqual(written)
    }
    expect((await send(orderCreated({ id: 'other' }))).outcome).toBe('handled')
  })

  test.each<[string, (tx: TransactionSql) => Promise<unknown>]>([
    ['a savepoint', (tx) => tx.savepoint(() => never())],
    ['a stream that is written', async (tx) => finished(await writable(tx))],
  ])('rejects in a handler that has returned: %s', async (_, begin) => {
    const left: Promise<unknown>[] = []
    const { send } = await handling((tx) => {
      left.push(begin(tx).catch((error: unknown) => error))
    })
    // The first run sends more, in which a savepoint may begin.
    for (let time = 0; time <= MAX; time++) await send(orderCreated({ id: `left ${time}` }))
    for (const error of await Promise.all(left)) expect(error).toBeInstanceOf(Error)
  })

  test.each<[string, (tx: TransactionSql) => Promise<unknown>]>([
    [
      'whose last bytes the database refuses',
      async (tx) => pipeline(['a\n', 'a\n'], await tx`COPY effects FROM STDIN`.writable()),
    ],
    [
      'whose session ends',
      async (tx) => {
        const [row] = await tx`SELECT pg_backend_pid() AS pid`
        const stream = await writable(tx)
        const closed = deferred()
        stream.once('close', closed.resolve)
        await database.query('SELECT pg_terminate_backend($1, 60000)', [row?.pid])
        await closed.promise
        await finished(stream)
      },
    ],
  ])('is no COPY %s: its stream fails', async (_, work) => {
    const { send } = await handling(work)
    for (let time = 0; time <= MAX; time++) {
      expect((await send(orderCreated({ id: 'left' }))).outcome).toMatch(/^(failed|unavailable)$/)
    }
    expect((await send(orderCreated({ id: 'other' }))).outcome).toBe('handled')
  })
})
