import type { IdempotencyStore, Inbox } from 'tix-webhooks'
import { ddl, postgresInbox, postgresStore } from 'tix-webhooks/postgres'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { failedDelivery } from '../../support/failed-delivery.js'
import { onPostgres } from '../../support/on-servers.js'
import { INBOX_CLIENTS, openPg, STORE_CLIENTS } from '../../support/postgres-clients.js'
import { testDatabase } from '../../support/postgres-database.js'
import { deferred } from '../../support/promises.js'
import { startProxy } from '../../support/tcp-proxy.js'

const HOUR_MS = 3_600_000
const ABOUT = { namespace: 'n', kind: 'order.created' }
const RETAIN = { retainMs: 100 * HOUR_MS, about: ABOUT }

const claim = (store: Pick<IdempotencyStore, 'claim'>, key: string, token = 'A', leaseMs = HOUR_MS) =>
  store.claim({ key, token, leaseMs, ...RETAIN })

/** Opens the transaction of a handler, and returns how to end it. */
async function hold(inbox: Inbox<unknown>, key: string) {
  const opened = deferred<void>()
  const end = deferred<void>()
  const once = inbox.once({ key, ...RETAIN }, () => {
    opened.resolve()
    return end.promise
  })
  await opened.promise
  return {
    commit() {
      end.resolve()
      return once
    },
    async rollBack() {
      end.reject(new Error('failed'))
      await once.catch(() => {})
    },
  }
}

onPostgres('a store and an inbox on one table of Postgres', () => {
  const database = testDatabase(ddl)
  beforeEach(() => database.query('TRUNCATE tix_webhooks_events'))
  const parts = () => {
    const pool = openPg(database, { max: 8 })
    return { store: postgresStore(pool), inbox: postgresInbox(pool), pool }
  }

  // Nothing waits: the transaction of the handler ends only after all of these have answered.
  test.each(STORE_CLIENTS)('no call over $name waits for an open transaction', async (library) => {
    const { inbox } = parts()
    const store = library.open(database, { max: 8 }).store()
    await claim(store, 'lost', 'A', 1)
    await store.fail({ key: 'known', token: 'x' }, failedDelivery({ key: 'known' }))
    while ((await store.ledger.get('lost'))?.state === 'running');
    const [fresh, lost, known] = [
      await hold(inbox, 'fresh'),
      await hold(inbox, 'lost'),
      await hold(inbox, 'known'),
    ]
    const inFlight = { status: 'in_flight', retryAfterMs: expect.any(Number) }
    const others = Array.from({ length: 40 }, (_, i) => `other ${i}`)
    const answers = await Promise.all(
      ['fresh', 'lost', 'known', ...others].map((key) => claim(store, key, 'B')),
    )
    expect(answers.slice(0, 3)).toEqual([inFlight, inFlight, inFlight])
    expect(answers.slice(3)).toEqual(others.map(() => ({ status: 'claimed', attempt: 1 })))
    expect(
      await store.claim({ key: 'known', token: 'B', leaseMs: 1, ...RETAIN, replay: { seen: 1 } }),
    ).toEqual({
      ...inFlight,
      retryAfterMs: 1,
    })
    const old = { key: 'lost', token: 'A' }
    expect([await store.renew(old, HOUR_MS), await store.release(old)]).toEqual([false, false])
    expect(await store.complete(old, HOUR_MS)).toBe(false)
    expect(await store.fail(old, failedDelivery({ key: 'lost' }))).toBe('in_flight')
    expect(await store.keep(failedDelivery({ key: 'fresh' }))).toBe('in_flight')
    expect(await store.ledger.discard('known', { reason: 'r' })).toBe('in_flight')
    expect(await store.forget('known')).toBe(false)
    expect(await inbox.once({ key: 'fresh', ...RETAIN }, async () => {})).toEqual({ status: 'in_flight' })
    expect(await fresh.commit()).toEqual({ status: 'handled' })
    await lost.rollBack()
    await known.rollBack()
    expect(await claim(store, 'fresh', 'B')).toEqual({ status: 'completed' })
    expect((await claim(store, 'lost', 'B')).status).toBe('claimed')
    expect(await store.keep(failedDelivery({ key: 'known' }))).toBe('failing')
  })

  test('a claim does not disturb another one of the event', async () => {
    const { store, pool } = parts()
    const other = await pool.connect()
    onTestFinished(() => other.release())
    const lock = "hashtextextended('a', 'tix_webhooks_events'::regclass::oid::bigint)"
    await other.query(`BEGIN; SELECT pg_advisory_xact_lock_shared(${lock})`)
    expect((await claim(store, 'a')).status).toBe('claimed')
    await other.query('ROLLBACK')
  })

  test('a live lease makes the delivery of an inbox in_flight, and its holder goes on', async () => {
    const { store, inbox } = parts()
    await claim(store, 'a')
    expect(await inbox.once({ key: 'a', ...RETAIN }, async () => {})).toEqual({ status: 'in_flight' })
    expect(await store.renew({ key: 'a', token: 'A' }, HOUR_MS)).toBe(true)
    expect(await store.complete({ key: 'a', token: 'A' }, HOUR_MS)).toBe(true)
    expect(await inbox.once({ key: 'a', ...RETAIN }, async () => {})).toEqual({ status: 'duplicate' })
  })

  test('an app that moves from one to the other forgets nothing', async () => {
    const { store, inbox } = parts()
    await claim(store, 'handled')
    await store.complete({ key: 'handled', token: 'A' }, HOUR_MS)
    await claim(store, 'failed')
    await store.fail({ key: 'failed', token: 'A' }, failedDelivery({ key: 'failed' }))
    await store.keep(failedDelivery({ key: 'parked', parkAfter: { attempts: 1 } }))
    const ran: (number | undefined)[] = []
    const once = (key: string) =>
      inbox.once({ key, ...RETAIN }, async (_, run) => void ran.push(run?.attempt))
    expect(await once('handled')).toEqual({ status: 'duplicate' })
    expect(await once('failed')).toEqual({ status: 'handled' })
    expect(await once('parked')).toEqual({ status: 'parked' })
    expect(ran).toEqual([2])
    expect(await store.ledger.get('failed')).toMatchObject({ state: 'handled', attempts: 2 })
    expect(await inbox.ledger.list()).toMatchObject([{ key: 'parked', state: 'parked' }])
    expect(await claim(store, 'failed', 'B')).toEqual({ status: 'completed' })
    expect(await store.isHandled('failed')).toBe(true)
    // A row of the inbox is not the claim of a run before it.
    expect(await store.complete({ key: 'failed', token: 'A' }, HOUR_MS)).toBe(false)
  })

  test('a discard is recorded with its reason, and the failure is gone', async () => {
    const { inbox } = parts()
    const { Discard } = await import('tix-webhooks')
    await inbox.keep(failedDelivery({ key: 'a' }))
    const discarded = inbox.once({ key: 'a', ...RETAIN }, () => Promise.reject(new Discard('a test')))
    expect(await discarded).toEqual({ status: 'discarded' })
    const event = await inbox.ledger.get('a')
    expect(event).toMatchObject({ state: 'discarded', reason: 'a test', attempts: 2 })
    expect([event?.failure, event?.rawBody]).toEqual([undefined, undefined])
  })

  test('a run that has lost its lease keeps its failure, and decides nothing else', async () => {
    const { store } = parts()
    const fail = (key: string, token: string) => store.fail({ key, token }, failedDelivery({ key }))
    async function show(key: string) {
      const [row] = await database.query(
        'SELECT state, token, failure, fails FROM tix_webhooks_events WHERE event_key = $1',
        [key],
      )
      return Object.values(row ?? {}).join()
    }
    /** A has lost its lease to B. */
    async function lose(key: string) {
      await claim(store, key, 'A', 1)
      while ((await claim(store, key, 'B')).status !== 'claimed');
    }
    await lose('done')
    await store.complete({ key: 'done', token: 'B' }, HOUR_MS)
    expect([await fail('done', 'A'), await show('done')]).toEqual(['handled', 'handled,B,,'])
    await lose('runs')
    expect([await fail('runs', 'A'), await show('runs')]).toEqual(['failing', 'running,B,failing,1'])
    await store.complete({ key: 'runs', token: 'B' }, HOUR_MS)
    expect(await show('runs')).toBe('handled,B,,')
    await lose('both')
    await fail('both', 'A')
    expect([await fail('both', 'B'), await show('both')]).toEqual(['failing', 'released,B,failing,2'])
    expect([await fail('both', 'B'), await show('both')]).toEqual(['failing', 'released,B,failing,2'])
    await lose('released')
    await store.release({ key: 'released', token: 'B' })
    expect([await fail('released', 'A'), await show('released')]).toEqual(['failing', 'released,B,failing,1'])
    await claim(store, 'free', 'A', 1)
    expect([await fail('free', 'A'), await show('free')]).toEqual(['failing', 'released,A,failing,1'])
    await lose('late')
    await fail('late', 'B')
    expect(await store.complete({ key: 'late', token: 'A' }, HOUR_MS)).toBe(false)
    expect(await show('late')).toBe('released,B,failing,1')
  })

  test('writes no index for a completion: the new row takes the place of the old one', async () => {
    // One connection, so that all is in one transaction, of which the server has counted what it did.
    const pool = openPg(database, { max: 1 })
    const store = postgresStore(pool)
    await pool.query('BEGIN')
    await claim(store, 'in place')
    await claim(store, 'in place')
    expect(await store.complete({ key: 'in place', token: 'A' }, 48 * HOUR_MS)).toBe(true)
    const { rows } = await pool.query(
      "SELECT pg_stat_get_xact_tuples_hot_updated('tix_webhooks_events'::regclass)::int AS count",
    )
    await pool.query('COMMIT')
    expect(rows).toEqual([{ count: 2 }])
  })

  test('an event past its retention is taken as a new one, alone, in a burst, and by an inbox', async () => {
    const { store, inbox } = parts()
    const keys = ['alone', 'burst 1', 'burst 2', 'inbox', 'completed']
    for (const key of keys) await store.keep(failedDelivery({ key, parkAfter: { attempts: 1 } }))
    await database.query('UPDATE tix_webhooks_events SET expires_at = 1')
    const claimed = { status: 'claimed', attempt: 1 }
    expect(await claim(store, 'alone')).toEqual(claimed)
    expect(await Promise.all(['burst 1', 'burst 2', 'new'].map((key) => claim(store, key)))).toEqual(
      Array(3).fill(claimed),
    )
    expect(await inbox.once({ key: 'inbox', ...RETAIN }, async () => {})).toEqual({ status: 'handled' })
    expect(await store.complete({ key: 'completed', token: 'A' }, HOUR_MS)).toBe(true)
    const left = await database.query(
      'SELECT event_key FROM tix_webhooks_events WHERE failure IS NOT NULL OR raw_body IS NOT NULL OR received_at < 2',
    )
    expect(left).toEqual([])
  })

  test('a purge deletes what is past its retention, oldest first, and skips what another transaction has', async () => {
    const { store, pool } = parts()
    for (const key of ['1', '2', '3', 'kept']) await store.keep(failedDelivery({ key }))
    await database.query(
      "UPDATE tix_webhooks_events SET received_at = event_key::bigint, expires_at = 1 WHERE event_key <> 'kept'",
    )
    const other = await pool.connect()
    onTestFinished(() => other.release())
    await other.query("BEGIN; SELECT FROM tix_webhooks_events WHERE event_key = '1' FOR UPDATE")
    expect(await store.purge({ limit: 1 })).toBe(1)
    expect(await database.column('SELECT event_key FROM tix_webhooks_events ORDER BY 1')).toEqual([
      '1',
      '3',
      'kept',
    ])
    expect(await store.purge()).toBe(1)
    await other.query('COMMIT')
    expect(await store.purge()).toBe(1)
    expect(await store.purge()).toBe(0)
  })

  test('an inbox needs three round trips with one statement of the handler, and two for a duplicate', async () => {
    const { hostname, port } = new URL(database.url)
    const proxy = await startProxy({ host: hostname, port: Number(port || 5432) })
    onTestFinished(() => proxy.close())
    const inbox = postgresInbox(openPg(database, { port: proxy.port, max: 1 }), { purgeEverySeconds: false })
    const trips = async (key: string): Promise<number> => {
      const before = proxy.roundTrips
      await inbox.once({ key, ...RETAIN }, async (tx) => void (await tx.query('SELECT 1')))
      return proxy.roundTrips - before
    }
    // The first may have to connect, and to prepare its statement.
    for (const key of ['1', '2']) await trips(key)
    expect([await trips('3'), await trips('3')]).toEqual([3, 2])
  })

  test.each(INBOX_CLIENTS)('every read over $name can be sent again on its connection', async (library) => {
    const { ledger } = library.open(database, { max: 1 }).inbox()
    for (let time = 0; time < 3; time++) {
      expect(await ledger.count()).toBe(0)
      expect(await ledger.count({ kind: 'order.created' })).toBe(0)
      expect([await ledger.list(), await ledger.groups(), await ledger.get('k')]).toEqual([[], [], undefined])
    }
  })

  test.each(['LATIN1', 'SQL_ASCII', 'EUC_JP'])('keeps any text in a database in %s', async (encoding) => {
    const name = `${database.schema}_${encoding.toLowerCase()}`
    await database.query(
      `CREATE DATABASE ${name} ENCODING '${encoding}' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0`,
    )
    onTestFinished(async () => void (await database.query(`DROP DATABASE ${name} WITH (FORCE)`)))
    const url = new URL(database.url)
    url.pathname = `/${name}`
    const { inbox, store } = ((pool) => ({ inbox: postgresInbox(pool), store: postgresStore(pool) }))(
      openPg({ ...database, url: url.href, settings: () => '' }),
    )
    await inbox.migrate()
    const text = 'Größe, 東京, 🎟️, "quoted" \\ \n'
    const failed = failedDelivery({ key: 'a', kind: text, orderId: text, message: text, namespace: 'n' })
    await store.keep(failed)
    const { failure, ...event } = (await inbox.ledger.list({ orderId: text }))[0] ?? {}
    expect({ ...event, message: failure?.message }).toMatchObject({
      kind: text,
      orderId: text,
      message: text,
    })
    const once = inbox.once(
      { key: 'b', retainMs: HOUR_MS, about: { namespace: 'n', kind: text } },
      async () => {},
    )
    expect(await once).toEqual({ status: 'handled' })
    expect((await store.ledger.get('b'))?.kind).toBe(text)
  })
})
