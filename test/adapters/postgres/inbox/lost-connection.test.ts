import { ddl } from 'tix-webhooks/postgres'
import { beforeEach, expect, test } from 'vitest'
import { onPostgres } from '../../../support/on-servers.js'
import { INBOX_CLIENTS, type OpenClient } from '../../../support/postgres-clients.js'
import { testDatabase } from '../../../support/postgres-database.js'
import { deferred } from '../../../support/promises.js'

// An uncaught exception, which ends a process, fails the run of these tests as a whole.
onPostgres.each(INBOX_CLIENTS)('postgresInbox over $name', (library) => {
  const database = testDatabase('CREATE TABLE effects (id text)', ddl)
  const effects = (): Promise<unknown[]> => database.column('SELECT id FROM effects ORDER BY id')
  const recorded = (): Promise<unknown[]> =>
    database.column('SELECT key FROM tix_webhooks_inbox ORDER BY key')

  beforeEach(() => database.query('TRUNCATE effects, tix_webhooks_inbox'))

  const insert = (client: OpenClient, tx: unknown, id: string) =>
    client.run(tx, `INSERT INTO effects VALUES ('${id}')`)

  /** Ends the server's side of a transaction, and waits until it is gone and its locks with it. */
  async function terminate(client: OpenClient, tx: unknown): Promise<void> {
    const [row] = await client.run(tx, 'SELECT pg_backend_pid() AS pid')
    await database.query('SELECT pg_terminate_backend($1, 60000)', [row?.pid])
  }

  // Drizzle on postgres.js lets a statement pass to a connection that is closed, and nothing can stand between the two.
  const canGoOn = library.name !== 'Drizzle on postgres.js'

  type Work = (client: OpenClient, tx: unknown) => unknown
  const ends: [string, Work, number][] = [
    ['returns', () => {}, 503],
    [
      'throws',
      () => {
        throw new Error('mine')
      },
      500,
    ],
  ]
  if (canGoOn) {
    ends.push(['writes more', (client, tx) => insert(client, tx, 'more'), 500])
    ends.push([
      'writes more and does not mind',
      (client, tx) => insert(client, tx, 'more').catch(() => {}),
      503,
    ])
  }

  // Statements of the first handler must not reach the second one's transaction, although the pool has only one connection.
  test.each(ends.filter(([end]) => end !== 'throws' && end !== 'writes more'))(
    'keeps a handler that has lost its connection, and then %s, out of the next one’s transaction',
    async (_, end) => {
      const client = library.open(database, { max: 1 })
      const inbox = client.inbox()
      const secondIsIn = deferred()
      const firstIsOut = deferred()
      const first = inbox.once({ key: 'first', retainMs: 60_000 }, async (tx) => {
        await insert(client, tx, 'first')
        await terminate(client, tx)
        // Some libraries keep the connection for the first one until its handler ends: then the second one waits, as it should.
        await Promise.race([secondIsIn.promise, database.query('SELECT pg_sleep(0.5)')])
        try {
          await end(client, tx)
        } finally {
          setImmediate(firstIsOut.resolve)
        }
      })
      const second = inbox.once({ key: 'second', retainMs: 60_000 }, async (tx) => {
        await insert(client, tx, 'second')
        secondIsIn.resolve()
        await firstIsOut.promise
        await insert(client, tx, 'second again')
      })
      const ended = await Promise.allSettled([first, second])
      expect(ended.map(({ status }) => status)).toEqual(['rejected', 'fulfilled'])
      expect(await effects()).toEqual(['second', 'second again'])
      expect(await recorded()).toEqual(['second'])
    },
  )
})
