import { ddl } from 'tix-webhooks/postgres'
import { beforeEach, expect, test } from 'vitest'
import { orderCreated } from '../../../support/deliveries.js'
import { onPostgres } from '../../../support/on-servers.js'
import { INBOX_CLIENTS, type OpenClient } from '../../../support/postgres-clients.js'
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
    ddl,
  )
  const effects = (): Promise<unknown[]> => database.column('SELECT id FROM effects ORDER BY id')
  const recorded = (): Promise<unknown[]> =>
    database.column("SELECT event_key FROM tix_webhooks_events WHERE state = 'handled'")

  beforeEach(async () => {
    await database.query('TRUNCATE effects, tickets, tix_webhooks_events')
    await database.query("INSERT INTO effects VALUES ('taken')")
  })

  type Work = (client: OpenClient, tx: unknown, id: string) => Promise<unknown>

  async function handling(work: Work) {
    const client = library.open(database)
    const inbox = client.inbox()
    const { send, reports } = await endpoint({
      inbox,
      on: { 'order.created': (event, ctx) => work(client, ctx.tx, event.data.order.id) },
    })
    /** After the answer, because the guard itself has failed. */
    const expectKept = (): Promise<void> =>
      expect
        .poll(() => inbox.ledger.list())
        .toMatchObject([{ attempts: 1, failure: { code: 'rolled_back' } }])
    return { send, reports, expectKept }
  }

  const insert = (client: OpenClient, tx: unknown, id: string) =>
    client.run(tx, `INSERT INTO effects VALUES ('${id}')`)

  test('is never acknowledged when the handler swallows it and does not wait for it, as all was rolled back', async () => {
    let isFailing = true
    const { send, reports, expectKept } = await handling(async (client, tx, id) => {
      await insert(client, tx, id)
      if (isFailing) void insert(client, tx, 'taken').catch(() => {})
    })
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
  const isOurs = library.name !== 'Kysely'

  test.runIf(isOurs)('is one that ends the transaction itself, and nothing is written', async () => {
    const statements = ['BEGIN', 'START TRANSACTION', 'COMMIT', 'end', ' rollback', 'ABORT', 'ROLLBACK WORK']
    let statement = ''
    const { send, reports } = await handling(async (client, tx, id) => {
      await insert(client, tx, id)
      await client.run(tx, statement)
    })
    for (statement of statements) {
      expect(await send(orderCreated({ id: 'written' }))).toEqual({ status: 500, outcome: 'failed' })
      const report = reports.at(-1)
      expect(String(report?.cause ?? report)).toMatch(/can neither begin nor end one.*SAVEPOINT/)
      expect([await effects(), await recorded()]).toEqual([['taken'], []])
    }
  })

  test.each([
    ['ROLLBACK', HANDLED],
    // Its writes are committed with the record, so they are there once.
    ['COMMIT', { status: 200, outcome: 'duplicate' }],
    ['COMMIT and START TRANSACTION', { status: 200, outcome: 'duplicate' }],
    ['ROLLBACK and START TRANSACTION', HANDLED],
  ])(
    'is not the only way to end it: a handler that hides %s in another statement is told so',
    async (end, next) => {
      let isFirst = true
      const { send, reports } = await handling(async (client, tx, id) => {
        await insert(client, tx, id)
        for (const statement of isFirst ? end.split(' and ') : [])
          await client.run(tx, `SELECT 1; ${statement}`)
        isFirst = false
      })
      const order = orderCreated({ id: 'written' })
      expect(await send(order)).toEqual(UNAVAILABLE)
      expect(reports[0]?.message).toMatch(/ended the transaction of the inbox itself.*SAVEPOINT/)
      expect(await send(order)).toEqual(next)
      expect(await effects()).toEqual(['taken', 'written'])
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
})

// An uncaught exception, which ends a process, fails the run of these tests as a whole.
onPostgres.each(INBOX_CLIENTS)('postgresInbox over $name', (library) => {
  const database = testDatabase('CREATE TABLE effects (id text)', ddl)
  const effects = (): Promise<unknown[]> => database.column('SELECT id FROM effects ORDER BY id')
  const recorded = (): Promise<unknown[]> =>
    database.column('SELECT event_key FROM tix_webhooks_events ORDER BY event_key')

  beforeEach(() => database.query('TRUNCATE effects, tix_webhooks_events'))

  const insert = (client: OpenClient, tx: unknown, id: string) =>
    client.run(tx, `INSERT INTO effects VALUES ('${id}')`)

  /** Ends the server's side of a transaction, and waits until it is gone and its locks with it. */
  async function terminate(client: OpenClient, tx: unknown): Promise<void> {
    const [row] = await client.run(tx, 'SELECT pg_backend_pid() AS pid')
    await database.query('SELECT pg_terminate_backend($1, 60000)', [row?.pid])
  }

  const ends: [string, (client: OpenClient, tx: unknown) => unknown][] = [
    ['returns', () => {}],
    ['writes more and does not mind', (client, tx) => insert(client, tx, 'more').catch(() => {})],
  ]

  // Statements of the first handler must not reach the second one's transaction, although the pool has only one connection.
  test.each(ends)(
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

const ONCE = { key: null, retainMs: 60_000 }

onPostgres.each(INBOX_CLIENTS)('the COMMIT of an inbox over $name', (library) => {
  // Deferred, so that it sees what COMMIT sees.
  const database = testDatabase(
    ddl,
    'CREATE TABLE effects (id text)',
    'CREATE TABLE seen (setting text)',
    `CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN INSERT INTO seen VALUES (current_setting('synchronous_commit')); RETURN NULL; END $$`,
    `CREATE CONSTRAINT TRIGGER noted AFTER INSERT ON effects DEFERRABLE INITIALLY DEFERRED
      FOR EACH ROW EXECUTE FUNCTION note()`,
  )

  beforeEach(() => database.query('TRUNCATE effects, seen'))

  test.each([
    ['off', 'on'],
    ['local', 'on'],
    ['remote_write', 'on'],
    ['on', 'on'],
    ['remote_apply', 'remote_apply'],
  ])(
    'waits for the disk where synchronous_commit is %s, and leaves that as it was',
    async (given, atCommit) => {
      const client = library.open(database, { settings: { synchronous_commit: given }, max: 1 })
      await client.inbox().once(ONCE, async (tx) => {
        await client.run(tx, "INSERT INTO effects VALUES ('one')")
      })
      expect(await database.column('SELECT setting FROM seen')).toEqual([atCommit])
      await client.plain(async (tx) => {
        expect(await client.run(tx, 'SHOW synchronous_commit')).toEqual([{ synchronous_commit: given }])
      })
    },
  )

  test.each(['SET LOCAL', 'SET'])('waits for the disk though the handler does not: %s', async (set) => {
    const client = library.open(database)
    await client.inbox().once(ONCE, async (tx) => {
      await client.run(tx, `${set} synchronous_commit = off`)
      await client.savepoint(tx, (inner) => client.run(inner, "INSERT INTO effects VALUES ('one')"))
    })
    expect(await database.column('SELECT setting FROM seen')).toEqual(['on'])
  })
})

const SETTING = 'idle_in_transaction_session_timeout'

onPostgres.each(INBOX_CLIENTS)('the limit on idle transactions of postgresInbox over $name', (library) => {
  const database = testDatabase(ddl)

  beforeEach(() => database.query('TRUNCATE tix_webhooks_events'))

  test.each<[string, Record<string, string>, { idleTimeoutSeconds?: number }, string]>([
    ['is a minute', {}, {}, '1min'],
    ['is what you set, rounded up', {}, { idleTimeoutSeconds: 6.5 }, '7s'],
    ['is the server’s own where it has one', { [SETTING]: '90min' }, {}, '90min'],
    ['is the server’s own, though you set another', { [SETTING]: '3s' }, { idleTimeoutSeconds: 7 }, '3s'],
  ])('%s, in that transaction alone', async (_, settings, options, expected) => {
    const client = library.open(database, { settings, max: 1 })
    const inbox = client.inbox(options)
    for (const key of ['limited', null]) {
      await inbox.once({ key, retainMs: 60_000 }, async (tx) => {
        const [row] = await client.run(tx, `SELECT current_setting('${SETTING}') AS now`)
        expect({ ...row }).toEqual({ now: expected })
        // The next transaction on this connection begins with what is left of this one.
        await client.run(tx, "SELECT set_config('tix.seen', 'yes', false)")
      })
    }
    await client.plain(async (tx) => {
      const [row] = await client.run(
        tx,
        `SELECT current_setting('${SETTING}') AS now, current_setting('tix.seen') AS seen`,
      )
      expect({ ...row }).toEqual({ now: settings[SETTING] ?? '0', seen: 'yes' })
    })
  })
})
