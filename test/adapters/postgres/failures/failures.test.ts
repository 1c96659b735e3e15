import type { FailedDelivery } from 'tix-webhooks'
import { ddl } from 'tix-webhooks/postgres'
import { beforeEach, expect, test } from 'vitest'
import { listing } from '../../../../adapters/postgres/failures/statements.js'
import { failedDelivery } from '../../../support/failed-deliveries.js'
import { onPostgres } from '../../../support/on-servers.js'
import { INBOX_CLIENTS } from '../../../support/postgres-clients.js'
import { testDatabase } from '../../../support/postgres-database.js'

const DAY_MS = 86_400_000
const at = (ms: number): Date => new Date(Date.parse('2026-11-24T10:00:00Z') + ms)

/** All bytes, invalid UTF-8 among them, up to the megabyte that a delivery may have. */
const MEGABYTE = Uint8Array.from({ length: 2 ** 20 }, (_, i) => (i * 7 + (i >> 8)) % 256)

onPostgres.each(INBOX_CLIENTS)('postgresFailures over $name', ({ open }) => {
  const database = testDatabase(ddl)
  beforeEach(() => database.query('TRUNCATE tix_webhooks_failures'))

  test('keep a failure as it was, and count on', async () => {
    const failures = open(database).failures()
    const full: FailedDelivery = failedDelivery({
      account: 'acme',
      eventId: 'evt_"\\ü漢😀',
      orderId: ' 42 ',
      kind: '{"json":true}',
      message: 'line\nline\ttab "quoted" \\ \u2028 ü漢😀',
      rawBody: MEGABYTE,
      secretIndex: 3,
    })
    expect(await failures.keep(full)).toBe('failing')
    const { failedAt, isReplay, ...rest } = full
    const kept = { ...rest, state: 'failing', firstAt: failedAt, lastAt: failedAt, attempts: 1, replays: 0 }
    const got = await failures.get(full.key)
    // To compare a million elements one by one takes seconds.
    expect(Buffer.compare(got?.rawBody as Uint8Array, MEGABYTE)).toBe(0)
    expect({ ...got, rawBody: null }).toEqual({ ...kept, rawBody: null })
    const again = failedDelivery({ failedAt: at(5_000), isReplay: true, message: 'another' })
    expect(await failures.keep({ ...again, parkAfter: { attempts: 2 } })).toBe('parked')
    expect(await failures.keep({ ...again, failedAt: at(-5_000), isReplay: false })).toBe('parked')
    const { failedAt: _, isReplay: __, ...others } = again
    expect(await failures.list()).toEqual([
      {
        ...others,
        state: 'parked',
        firstAt: at(123),
        lastAt: at(5_000),
        attempts: 3,
        replays: 1,
        lastReplayedAt: at(5_000),
      },
    ])
    expect([await failures.delete(full.key), await failures.delete(full.key)]).toEqual([true, false])
    expect(await failures.get(full.key)).toBeUndefined()
    await failures.check()
    expect(await failures.purge()).toBe(0)
  })

  test('list, group and count what is wanted', async () => {
    const failures = open(database).failures()
    const keep = (i: number, given: Partial<FailedDelivery>) =>
      failures.keep(failedDelivery({ key: `test/${i}`, failedAt: at(i), ...given }))
    await keep(1, { kind: 'ü', group: 'aaaaaaaaaaaaaaaa', orderId: 'ord\0', message: 'first' })
    await keep(2, { account: 'acme', group: 'aaaaaaaaaaaaaaaa', eventId: 'evt\ud800' })
    await keep(3, { kind: 'ü', message: 'third' })
    await keep(4, { namespace: 'other', failedAt: at(3), parkAfter: { ms: 0 } })
    const keys = async (query: object) => (await failures.list(query)).map(({ key }) => key.slice(5))
    expect(await keys({})).toEqual(['4', '3', '2', '1'])
    expect(await keys({ order: 'oldest', limit: 2 })).toEqual(['1', '2'])
    expect(await keys({ before: { lastAt: at(3), key: 'test/4' } })).toEqual(['3', '2', '1'])
    expect(await keys({ after: at(1), before: at(3) })).toEqual(['2'])
    expect(await keys({ after: new Date(-8.64e15), before: new Date(8.64e15), limit: 1 })).toEqual(['4'])
    const filters = [
      [{ kind: 'ü' }, ['3', '1']],
      [{ account: 'acme' }, ['2']],
      [{ namespace: 'other' }, ['4']],
      [{ state: 'parked' }, ['4']],
      [{ state: 'failing', group: 'aaaaaaaaaaaaaaaa' }, ['2', '1']],
      [{ orderId: 'ord\0' }, ['1']],
      [{ eventId: 'evt\ud800' }, ['2']],
      [{ kind: 'none' }, []],
    ] as const
    for (const [filter, found] of filters) {
      expect(await keys(filter), JSON.stringify(filter)).toEqual(found)
      expect(await failures.count(filter)).toBe(found.length)
    }
    const group = { code: 'handler_failed', message: 'no such column', kind: 'order.created' }
    const groups = [
      { ...group, group: '0123456789abcdef', count: 2, firstAt: at(3), lastAt: at(3) },
      { ...group, group: 'aaaaaaaaaaaaaaaa', count: 2, firstAt: at(1), lastAt: at(2) },
    ]
    expect(await failures.groups()).toEqual(groups)
    expect(await failures.groups({ limit: 1 })).toEqual(groups.slice(0, 1))
    expect(await failures.groups({ kind: 'ü' })).toMatchObject([
      { count: 1, message: 'third', kind: 'ü' },
      { count: 1, message: 'first', kind: 'ü' },
    ])
  })

  test('purge what last failed before the retention, oldest first', async () => {
    const failures = open(database).failures({ retentionSeconds: 10 * 86_400 })
    for (const days of [9.99, 10.01, 12, 11]) {
      const failedAt = new Date(Date.now() - days * DAY_MS)
      await failures.keep(failedDelivery({ key: `test/${days}`, failedAt }))
    }
    expect(await failures.purge({ limit: 1 })).toBe(1)
    expect((await failures.list()).map(({ key }) => key)).toEqual(['test/9.99', 'test/10.01', 'test/11'])
    expect([await failures.purge(), await failures.purge()]).toEqual([2, 0])
    expect(await failures.count()).toBe(1)
  })
})

onPostgres('a table of failures without statistics, as after a bulk load', () => {
  const database = testDatabase(ddl)

  test.each(['orderId', 'eventId'] as const)('finds those of an id by its index: %s', async (name) => {
    await database.query(`
      ALTER TABLE tix_webhooks_failures SET (autovacuum_enabled = off);
      TRUNCATE tix_webhooks_failures;
      INSERT INTO tix_webhooks_failures
      SELECT 'test/' || n, 'test', null, 'k', 'id' || n, 'id' || n, now(), 0, 'c', 'c', 'm', 'failing', now(),
        now() - n * interval '1 s', 1, 0, null, ''
      FROM generate_series(1, 50000) AS n`)
    const statement = listing('tix_webhooks_failures', 'newest', { filter: [name] })
    const plan = await database.query(`EXPLAIN ${statement}`, [JSON.stringify({ [name]: 'id7' }), 1])
    const index = name === 'orderId' ? 'order_id' : 'event_id'
    expect(JSON.stringify(plan)).toContain(`tix_webhooks_failures_${index}`)
  })
})
