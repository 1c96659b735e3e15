import { beforeEach, expect, test } from 'vitest'
import { failedDelivery } from '../support/failed-delivery.js'
import { expectUnavailable } from '../support/rejections.js'
import { BACKENDS, claimOf, onceOf, TABLE, WRITING } from './backends.js'

const PARTS = ['store', 'inbox'] as const
const OTHER =
  /was created by another version or another program[.:] (Rename it|\w+\.migrate\(\) lists the differences)/

for (const { name, server, describe, ddl, prepare } of BACKENDS) {
  describe(`migrate of ${name}`, () => {
    const database = prepare()
    const all = [TABLE, `${TABLE}_newest`, ...(server === 'mysql' ? [`${TABLE}_locks`] : [])]

    async function dropAll(): Promise<void> {
      for (const table of all) await database.query(`DROP TABLE IF EXISTS ${table}`)
    }
    beforeEach(dropAll)

    test('makes the tables and the indexes once, keeps what is in them, and does what the ddl does', async () => {
      const { store, inbox } = database.open()
      await store.migrate()
      await inbox.migrate()
      const names = await database.names()
      expect(names).toEqual(expect.arrayContaining(all))
      for (const [i, write] of WRITING.entries()) await write(database.open(), `k${i}`)
      const again = database.open()
      for (const part of PARTS) await again[part].migrate()
      const keys = await database.column(`SELECT event_key FROM ${TABLE} ORDER BY event_key`)
      expect(keys.map(String)).toEqual(WRITING.map((_, i) => `k${i}`))
      expect(await database.names()).toEqual(names)

      await dropAll()
      if (ddl !== undefined) expect(ddl).toBe(inbox.ddl)
      expect(inbox.ddl).toContain(store.ddl)
      // A migration tool may run it again.
      for (const statement of `${inbox.ddl}\n${inbox.ddl}`.split(';\n')) {
        if (statement.trim() !== '') await database.query(statement)
      }
      expect(await database.names()).toEqual(names)
      for (const part of PARTS) await database.open()[part].migrate()
      for (const [i, write] of WRITING.entries()) await write(database.open(), `k${i}`)
    })

    // On SQLite a file has one process that writes at a time: see its own tests.
    if (server !== 'sqlite') {
      test('can run eight times at once', async () => {
        const deploys = Array.from({ length: 8 }, () => database.open()).flatMap((pair) =>
          PARTS.map((part) => pair[part].migrate()),
        )
        const settled = await Promise.allSettled(deploys)
        expect(settled.flatMap((one) => (one.status === 'rejected' ? [one.reason.message] : []))).toEqual([])
      })
    }

    const [text, key, time] = {
      postgres: ['text', 'key text', 'timestamptz'],
      mysql: ['VARBINARY(255)', '`key` VARBINARY(255)', 'DATETIME(6)'],
      sqlite: ['TEXT', 'key TEXT', 'INTEGER'],
    }[server]
    test.each([
      [
        'of another program',
        `event_key ${text} PRIMARY KEY, expires_at BIGINT`,
        /state, token, attempt, .*raw_body[.,] /,
      ],
      ['of 0.1.0', `${key} PRIMARY KEY, state ${text}, expires_at ${time}`, /\bevent_key, .*raw_body[.,] /],
    ])('names the columns that a table %s lacks, and leaves it as it is', async (_, columns, lacking) => {
      const pair = database.open()
      // With the tables beside it.
      await pair.inbox.migrate()
      await database.query(`DROP TABLE ${TABLE}`)
      await database.query(`CREATE TABLE ${TABLE} (${columns}, note ${text})`)
      for (const part of PARTS) {
        const lacks = new RegExp(
          `There is a table .*${TABLE}. .*${lacking.source}.*Rename it, or choose another name with the table option`,
        )
        await expectUnavailable(pair[part].migrate(), lacks)
        await expectUnavailable(pair[part].check(), lacks)
      }
      for (const write of WRITING) await expectUnavailable(write(pair, 'k'), OTHER)
      expect(await database.column(`SELECT note FROM ${TABLE}`)).toEqual([])
    })

    test('refuses a table whose key is not unique', async () => {
      const pair = database.open()
      await pair.inbox.migrate()
      await database.query(`ALTER TABLE ${TABLE} RENAME TO old`)
      await database.query(`CREATE TABLE ${TABLE} AS SELECT * FROM old`)
      for (const part of PARTS) {
        await expectUnavailable(
          pair[part].migrate(),
          /PRIMARY KEY \(event_key\)|of another kind: event_key\./,
        )
        if (server !== 'mysql') await expectUnavailable(pair[part].check(), OTHER)
      }
      await database.query('DROP TABLE old')
    })

    test('was not called: each call says so, and works after it', async () => {
      const { store, inbox } = database.open()
      const lease = { key: 'k', token: 'a' }
      const calls: (() => unknown)[] = [
        () => store.claim(claimOf('k')),
        () => store.renew(lease, 1),
        () => store.complete(lease, 1_000),
        () => store.release(lease),
        () => inbox.once(onceOf('k'), async () => {}),
        ...[store, inbox].flatMap((one) => [
          () => one.isHandled('k'),
          () => one.keep(failedDelivery()),
          () => one.forget('k'),
          () => one.ledger.get('k'),
          () => one.ledger.list(),
          () => one.ledger.groups(),
          () => one.ledger.count(),
          () => one.ledger.discard('k', { reason: 'no' }),
          () => one.purge(),
          () => one.check(),
        ]),
      ]
      const missing = /^The table \S+ is missing: run (store|inbox)\.migrate\(\)/
      for (const call of calls) await expectUnavailable(Promise.resolve(call()), missing)
      await inbox.migrate()
      for (const call of calls) await call()
      // Not every app uses it.
      await database.query(`DROP TABLE ${TABLE}_newest`)
      await inbox.check()
    })

    test.each(['Mixed_Case', 'x'.repeat(48), 'select', 'q1'])('makes tables named %s', async (table) => {
      const given = new Set([table, `${database.place}${table}`])
      for (const name of given) {
        const pair = database.open({ table: name })
        await pair.inbox.migrate()
        await pair.store.migrate()
        for (const [i, write] of WRITING.entries()) await write(pair, `${i} ${name}`.slice(0, 60))
      }
      const quote = server === 'mysql' ? '`' : '"'
      const [count] = await database.column(`SELECT COUNT(*) FROM ${quote}${table}${quote}`)
      expect(Number(count)).toBe(given.size * WRITING.length)
      for (const end of ['', '_newest', ...(server === 'mysql' ? ['_locks'] : [])]) {
        await database.query(`DROP TABLE ${quote}${table}${end}${quote}`)
      }
    })
  })
}
