import { createConnection, createPool } from 'mysql2/promise'
import { mysqlInbox, mysqlStore } from 'tix-webhooks/mysql'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { eventually } from '../../support/eventually.js'
import { failedDelivery } from '../../support/failed-delivery.js'
import { type MysqlServer, startMysql } from '../../support/mysql-server.js'
import { onOwnMysql } from '../../support/on-servers.js'
import { type AnyPool, POOLS } from './pools.js'

const HOUR_MS = 3_600_000
const CLAIM = { key: 'k', token: 't', leaseMs: HOUR_MS, retainMs: HOUR_MS }
const ONCE = { key: 'k', retainMs: HOUR_MS }

const unavailable = (message: RegExp) => ({
  code: 'store_unavailable',
  message: expect.toSatisfy((text: string) => message.test(text) && !text.includes('hunter2')),
})

/** Both of a pool. */
const allOf = (pool: AnyPool) => [mysqlStore(pool), mysqlInbox(pool)]

/** Settings of the whole server, or of its start. */
onOwnMysql('a server of its own', () => {
  let server: MysqlServer
  const at = { url: '' }

  async function run(...statements: string[]): Promise<Record<string, unknown>[]> {
    const connection = await createConnection(at.url)
    try {
      let rows: unknown
      for (const statement of statements) [rows] = await connection.query(statement)
      return rows as Record<string, unknown>[]
    } finally {
      await connection.end()
    }
  }

  beforeAll(async () => {
    server = await startMysql({
      settings: {
        character_set_server: 'utf8mb4',
        collation_server: 'utf8mb4_general_ci',
        innodb_rollback_on_timeout: 1,
        log_bin: 'binlog',
        sync_binlog: 1,
      },
    })
    at.url = server.url
    await run('CREATE DATABASE app')
    at.url = new URL('/app', server.url).href
    const pool = createPool(at.url)
    for (const one of allOf(pool)) await one.migrate()
    await pool.end()
    await run(
      'CREATE TABLE effects (id VARCHAR(50), n INT INVISIBLE AUTO_INCREMENT PRIMARY KEY)',
      'CREATE TABLE contended (id INT PRIMARY KEY)',
      'INSERT INTO contended VALUES (1)',
      "CREATE USER app IDENTIFIED BY 'hunter2'",
      'GRANT SELECT, INSERT, UPDATE, DELETE ON app.* TO app',
    )
  })
  afterAll(() => server.stop())
  beforeEach(async () => {
    await run('DELETE FROM effects', 'DELETE FROM tix_webhooks_events')
  })

  /** For new connections, until the test ends. */
  async function setGlobal(name: string, value: string | number): Promise<void> {
    const before = (await run(`SELECT @@GLOBAL.${name} AS value`))[0]?.value
    await run(`SET GLOBAL ${name} = ${value}`)
    onTestFinished(
      async () =>
        void (await run(`SET GLOBAL ${name} = ${typeof before === 'string' ? `'${before}'` : before}`)),
    )
  }

  /** The URL of a user with this password. */
  function urlAs(user: string, password: string): { url: string } {
    const url = new URL(at.url)
    url.username = user
    url.password = password
    return { url: url.href }
  }

  describe.each(POOLS)('over $name', ({ name, open }) => {
    test('the check and each call reject on a server that is read-only, or for a wrong password', async () => {
      await setGlobal('read_only', 1)
      // mariadb tries to connect until its time is over.
      const shortly = name === 'mariadb' ? { more: { acquireTimeout: 150 } } : {}
      for (const [url, options, message] of [
        [urlAs('app', 'hunter2'), {}, /^This server is read-only, such as a replica/],
        [urlAs('app', 'other'), shortly, /^The server refused the user or the password of the connection/],
      ] as const) {
        const pool = open(url, options)
        const [store, inbox] = [mysqlStore(pool), mysqlInbox(pool)]
        for (const call of [
          ...[store, inbox].map((one) => () => one.check()),
          () => store.claim(CLAIM),
          () => store.complete(CLAIM, HOUR_MS),
          () => inbox.once(ONCE, () => expect.fail('It ran')),
          () => inbox.keep(failedDelivery()),
        ]) {
          await expect(call()).rejects.toMatchObject(unavailable(message))
        }
      }
    })

    test('a pool without autocommit is refused by the store, and no matter to the others', async () => {
      await setGlobal('autocommit', 0)
      const pool = open(at)
      await expect(mysqlStore(pool).claim(CLAIM)).rejects.toMatchObject(
        unavailable(/^The connections of this pool have autocommit off/),
      )
      expect(await mysqlInbox(pool).once(ONCE, async () => {})).toEqual({ status: 'handled' })
      expect(await mysqlInbox(pool).keep(failedDelivery())).toBe('failing')
      expect(await run('SELECT COUNT(*) AS n FROM tix_webhooks_events')).toEqual([{ n: 2 }])
    })

    test('migrate() needs CREATE, SELECT and INSERT, and names them to a user without, who may not see the columns', async () => {
      await run("CREATE USER migrates IDENTIFIED BY 'hunter2'")
      onTestFinished(async () => void (await run('DROP USER migrates')))
      const lacks = unavailable(
        /has no rights on `app`.* one that runs \w+\.migrate\(\) CREATE, SELECT and INSERT/,
      )
      for (const [right, isEnough] of [
        ['CREATE', [false, false]],
        ['SELECT', [true, false]],
        ['INSERT', [true, true]],
      ] as const) {
        await run(`GRANT ${right} ON app.* TO migrates`, 'DELETE FROM tix_webhooks_events_locks')
        const pool = open(urlAs('migrates', 'hunter2'))
        for (const [i, { migrate }] of allOf(pool).entries()) {
          if (isEnough[i]) await migrate()
          else await expect(migrate()).rejects.toMatchObject(lacks)
        }
      }
    })

    test('migrate() makes its tables with another default row format', async () => {
      await setGlobal('innodb_default_row_format', "'compact'")
      await run('CREATE DATABASE compact')
      onTestFinished(async () => void (await run('DROP DATABASE compact')))
      const pool = open({ url: new URL('/compact', at.url).href })
      for (const { migrate, check } of allOf(pool)) {
        await migrate()
        await check()
      }
    })

    test.each([
      ['innodb_flush_log_at_trx_commit', 0, 1],
      ['innodb_flush_log_at_trx_commit', 1, 0],
      ['innodb_flush_log_at_trx_commit', 2, 1],
      // Without a binary log, as in a lane of the tests, it does not matter.
      ['sync_binlog', 0, '@@log_bin'],
    ] as const)('%s = %i is warned of: %s', async (variable, value, expected) => {
      await setGlobal(variable, value)
      const [{ times } = {}] = await run(`SELECT ${expected} + 0 AS times`)
      const warnings = vi.spyOn(console, 'warn').mockImplementation(() => {})
      onTestFinished(() => warnings.mockRestore())
      const pool = open(at)
      for (const _ of [1, 2]) for (const one of allOf(pool)) await one.check()
      const warning = new RegExp(`^tix-webhooks: ${variable} of this server is not 1`)
      expect(warnings.mock.calls).toEqual(Array(Number(times)).fill([expect.stringMatching(warning)]))
    })

    test('an answer that rests on a read waits for a flush, whether or not a commit is in a binary log', async () => {
      const pool = open(at, { session: ['SET sql_log_bin = 0'] })
      const [store, inbox] = [mysqlStore(pool), mysqlInbox(pool)]
      await store.claim(CLAIM)
      await store.complete(CLAIM, HOUR_MS)
      await store.keep(failedDelivery({ key: 'parked', parkAfter: { attempts: 1 } }))
      const unexpected = () => expect.fail('It ran')
      const calls: readonly (readonly [() => Promise<unknown>, unknown])[] = [
        [() => store.claim({ ...CLAIM, token: 'other' }), { status: 'completed' }],
        [() => store.claim({ ...CLAIM, key: 'parked' }), { status: 'parked' }],
        [() => store.isHandled('k'), true],
        [() => inbox.once(ONCE, unexpected), { status: 'duplicate' }],
        [() => inbox.once({ ...ONCE, key: 'parked' }, unexpected), { status: 'parked' }],
        [() => inbox.isHandled('k'), true],
      ]
      const flushes = async () =>
        Number((await run("SHOW GLOBAL STATUS LIKE 'Innodb_data_fsyncs'"))[0]?.Value)
      // The server flushes by itself too, about once a second.
      const times = 30
      for (const [call, answer] of calls) {
        const before = await flushes()
        for (let i = 0; i < times; i++) expect(await call()).toEqual(answer)
        expect((await flushes()) - before, String(call)).toBeGreaterThanOrEqual(times)
      }
    })

    test('a max_allowed_packet that is too small is named', async () => {
      await setGlobal('max_allowed_packet', 65_536)
      const store = mysqlStore(open(at))
      const large = failedDelivery({ rawBody: new Uint8Array(100_000) })
      const message = /larger than max_allowed_packet/
      await expect(store.keep(large)).rejects.toMatchObject(unavailable(message))
      expect(await store.keep(failedDelivery({ rawBody: new Uint8Array(20_000) }))).toBe('failing')
      expect((await store.ledger.get('test/order.created/ord_1'))?.rawBody).toHaveLength(20_000)
    })

    // As it is set here, the server rolls back all of the transaction, as soon as it would wait.
    test.each([true, false])(
      'a lock that is not free in time is never acknowledged: swallowed %s',
      async (isSwallowed) => {
        const other = await createConnection(at.url)
        onTestFinished(() => other.end())
        await other.query('START TRANSACTION')
        await other.query('SELECT * FROM contended FOR UPDATE')
        const inbox = mysqlInbox(open(at, { session: ['SET innodb_lock_wait_timeout = 0'] }))
        const once = inbox.once(ONCE, async (tx) => {
          const query = (sql: string): Promise<unknown> =>
            (tx as { query(sql: string): Promise<unknown> }).query(sql)
          await query("INSERT INTO effects VALUES ('before')")
          const waiting = query('UPDATE contended SET id = 2')
          if (!isSwallowed) return void (await waiting)
          await waiting.catch(() => {})
          await query("INSERT INTO effects VALUES ('after')")
        })
        await expect(once).rejects.toMatchObject(isSwallowed ? { code: 'rolled_back' } : { errno: 1205 })
        expect(
          await run('SELECT id FROM effects UNION ALL SELECT event_key FROM tix_webhooks_events'),
        ).toEqual([])
      },
    )
  })

  test('is used again once it was restarted, over both clients', async () => {
    const pools = POOLS.map(({ name, open }) => ({ name, pool: open(at) }))
    for (const { pool } of pools) for (const one of allOf(pool)) await one.check()
    await server.restart('SIGKILL')
    for (const { name, pool } of pools) {
      // The connections of the pool are gone, which it may learn only by their use.
      for (const one of allOf(pool)) await eventually(() => one.check())
      const claimed = await mysqlStore(pool).claim({ ...CLAIM, key: name })
      expect(claimed).toEqual({ status: 'claimed', attempt: 1 })
      expect(await mysqlInbox(pool).once({ ...ONCE, key: `${name} in an inbox` }, async () => {})).toEqual({
        status: 'handled',
      })
    }
  })
})
