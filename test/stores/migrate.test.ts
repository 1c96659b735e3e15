import { beforeEach, expect, test } from 'vitest'
import { failedDelivery } from '../support/failed-delivery.js'
import { expectUnavailable } from '../support/rejections.js'
import { BACKENDS, claimOf, onceOf, TABLES, WRITING } from './backends.js'

const PARTS = Object.keys(TABLES) as (keyof typeof TABLES)[]

/** Columns that a table of a `key` and an `expires_at` lacks, on each server. */
const LACKING = {
  store: 'state, attempt, token, lease_until',
  inbox: 'handled_at',
  failures: 'namespace, account, kind, event_id, order_id, .*raw_body',
}

for (const { name, server, describe, ddl, prepare } of BACKENDS) {
  describe(`migrate of ${name}`, () => {
    const database = prepare()
    const newest = [`${TABLES.inbox}_newest`, ...(server === 'mysql' ? [`${TABLES.inbox}_locks`] : [])]
    const keys = async (table: string) =>
      (await database.column(`SELECT ${table}.key FROM ${table}`)).map(String)

    async function dropAll(): Promise<void> {
      for (const table of [...Object.values(TABLES), ...newest]) {
        await database.query(`DROP TABLE IF EXISTS ${table}`)
      }
    }
    beforeEach(dropAll)

    test('makes the tables and the indexes once, keeps what is in them, and does what the ddl does', async () => {
      const { store, inbox, failures } = database.open()
      for (const part of [store, inbox, failures]) await part.migrate()
      const all = await database.names()
      expect(all).toEqual(expect.arrayContaining([...Object.values(TABLES), ...newest]))
      for (const part of PARTS) await WRITING[part](database.open(), 'k', failedDelivery())
      const again = database.open()
      for (const part of [again.store, again.inbox, again.failures]) await part.migrate()
      for (const table of Object.values(TABLES)) expect(await keys(table)).toEqual(['k'])
      expect(await database.names()).toEqual(all)

      await dropAll()
      const statements = [store, inbox, failures].map((part) => part.ddl)
      if (ddl !== undefined) expect(ddl).toBe(statements.join('\n'))
      // A migration tool may run it again.
      for (const statement of [...statements, ...statements].flatMap((part) => part.split(';\n'))) {
        if (statement.trim() !== '') await database.query(statement)
      }
      expect(await database.names()).toEqual(all)
      for (const part of [store, inbox, failures]) await part.migrate()
      for (const part of PARTS) await WRITING[part](database.open(), 'k', failedDelivery())
    })

    // On SQLite a file has one process that writes at a time: see its own tests.
    if (server !== 'sqlite') {
      test('can run eight times at once', async () => {
        const deploys = Array.from({ length: 8 }, () => database.open()).flatMap((three) =>
          PARTS.map((part) => three[part].migrate()),
        )
        const settled = await Promise.allSettled(deploys)
        const failures = settled.flatMap((one) => (one.status === 'rejected' ? [one.reason.message] : []))
        expect(failures).toEqual([])
      })
    }

    test.each(PARTS)(
      'of the %s names the columns that a table lacks, and leaves it as it is',
      async (part) => {
        const three = database.open()
        const table = TABLES[part]
        // With the tables beside it.
        await three[part].migrate()
        await database.query(`DROP TABLE ${table}`)
        const [key, time] = {
          postgres: ['key text', 'timestamptz'],
          mysql: ['`key` VARBINARY(255)', 'DATETIME(6)'],
          sqlite: ['key TEXT', 'INTEGER'],
        }[server]
        await database.query(`CREATE TABLE ${table} (${key} PRIMARY KEY, expires_at ${time}, note text)`)
        await database.query(`INSERT INTO ${table} VALUES ('theirs', NULL, 'of another program')`)
        const lacks = new RegExp(
          `There is a table .*${table}. .*\\b${LACKING[part]}[.,] .*Rename it, or choose another name with the table option`,
        )
        await expectUnavailable(three[part].migrate(), lacks)
        const other =
          /was created by another version or another program: \w+\.migrate\(\) lists the differences/
        await expectUnavailable(WRITING[part](three, 'k', failedDelivery()), other)
        await expectUnavailable(three[part].check(), other)
        expect(await database.column(`SELECT note FROM ${table}`)).toEqual(['of another program'])
      },
    )

    test('refuses a table whose key is not unique', async () => {
      const three = database.open()
      for (const part of PARTS) {
        await three[part].migrate()
        const table = TABLES[part]
        await database.query(`ALTER TABLE ${table} RENAME TO old`)
        await database.query(`CREATE TABLE ${table} AS SELECT * FROM old`)
        await expectUnavailable(three[part].migrate(), /PRIMARY KEY \(key\)|of another kind: key\./)
        if (server !== 'mysql') {
          await expectUnavailable(three[part].check(), /was created by another version or another program/)
        }
        await database.query(`DROP TABLE ${table}`)
        await database.query('DROP TABLE old')
      }
    })

    test('was not called: each call says so, and works after it', async () => {
      const { store, inbox, failures } = database.open()
      const lease = { key: 'k', token: 'a' }
      const calls = [
        () => store.claim(claimOf('k')),
        () => store.renew(lease, 1),
        () => store.complete(lease, 1_000),
        () => store.release(lease),
        () => store.isHandled('k'),
        () => store.purge(),
        () => store.check(),
        () => inbox.once(onceOf('k'), async () => {}),
        () => inbox.isHandled('k'),
        () => inbox.purge(),
        () => inbox.check(),
        () => failures.keep(failedDelivery()),
        () => failures.get('k'),
        () => failures.delete('k'),
        () => failures.list(),
        () => failures.groups(),
        () => failures.count(),
        () => failures.purge(),
        () => failures.check(),
      ]
      for (const call of calls) {
        await expectUnavailable(call(), /^The table \S+ is missing: run (store|inbox|failures)\.migrate\(\)/)
      }
      for (const part of [store, inbox, failures]) await part.migrate()
      for (const call of calls) await call()
      // Not every app uses it.
      await database.query(`DROP TABLE ${TABLES.inbox}_newest`)
      await inbox.check()
    })

    test.each(['Mixed_Case', 'x'.repeat(46), 'select', 'q1'])('makes tables named %s', async (table) => {
      for (const given of new Set([table, `${database.place}${table}`])) {
        const three = database.open({ table: given })
        for (const part of PARTS) {
          await three[part].migrate()
          await WRITING[part](three, given.slice(0, 60), failedDelivery())
        }
      }
      const quote = server === 'mysql' ? '`' : '"'
      const count = database.place === '' ? 1 : 2
      for (const end of ['', '_i', '_f']) {
        const name = `${quote}${table}${end}${quote}`
        expect((await database.column(`SELECT COUNT(*) FROM ${name}`)).map(Number)).toEqual([count])
        await database.query(`DROP TABLE ${name}`)
      }
    })
  })
}
