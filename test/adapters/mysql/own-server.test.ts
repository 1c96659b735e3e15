import { createConnection, createPool } from 'mysql2/promise'
import { mysqlFailures, mysqlInbox, mysqlStore } from 'tix-webhooks/mysql'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { failedDelivery } from '../../support/failed-deliveries.js'
import { freePort } from '../../support/free-port.js'
import { type MysqlServer, startMysql } from '../../support/mysql-server.js'
import { onOwnMysql } from '../../support/on-servers.js'
import { type AnyPool, POOLS } from './pools.js'

const HOUR_MS = 3_600_000
const CLAIM = { key: 'k', token: 't', leaseMs: HOUR_MS, retainMs: HOUR_MS }
const ONCE = { key: 'k', retainMs: HOUR_MS }
const TABLES = ['tix_webhooks', 'tix_webhooks_inbox', 'tix_webhooks_inbox_locks', 'tix_webhooks_failures']

const unavailable = (message: RegExp) => ({
  code: 'store_unavailable',
  message: expect.toSatisfy(
    (text: string) => message.test(text) && !text.includes('hunter2'),
    String(message),
  ),
})

/** The three of a pool. */
const allOf = (pool: AnyPool) => [mysqlStore(pool), mysqlInbox(pool), mysqlFailures(pool)]

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
      },
    })
    const url = new URL(server.url)
    const connection = await createConnection(url.href)
    await connection.query('CREATE DATABASE app')
    await connection.end()
    url.pathname = '/app'
    at.url = url.href
    const pool = createPool(at.url)
    for (const one of allOf(pool)) await one.migrate()
    await pool.end()
    await run(
      'CREATE TABLE effects (id VARCHAR(50))',
      'CREATE TABLE contended (id INT PRIMARY KEY)',
      'INSERT INTO contended VALUES (1)',
    )
  })
  afterAll(() => server.stop())
  beforeEach(async () => {
    await run(
      'DELETE FROM effects',
      'DELETE FROM tix_webhooks',
      'DELETE FROM tix_webhooks_inbox',
      'DELETE FROM tix_webhooks_failures',
    )
  })

  /** For new connections, until the test ends. */
  async function setGlobal(name: string, value: string | number): Promise<void> {
    const [row] = await run(`SELECT @@GLOBAL.${name} AS value`)
    const before = row?.value
    await run(`SET GLOBAL ${name} = ${value}`)
    onTestFinished(
      async () =>
        void (await run(`SET GLOBAL ${name} = ${typeof before === 'number' ? before : `'${before}'`}`)),
    )
  }

  let users = 0
  /** A URL with the password of a new user, who has these rights on each of the tables. */
  async function userWith(rights: string): Promise<{ url: string }> {
    const user = `app_${++users}`
    await run(`CREATE USER ${user} IDENTIFIED BY 'hunter2'`)
    for (const table of rights === '' ? [] : TABLES) await run(`GRANT ${rights} ON app.${table} TO ${user}`)
    if (rights === '') await run(`GRANT SELECT ON app.effects TO ${user}`)
    onTestFinished(async () => void (await run(`DROP USER ${user}`)))
    const url = new URL(at.url)
    url.username = user
    url.password = 'hunter2'
    return { url: url.href }
  }

  describe.each(POOLS)('over $name', ({ name, open }) => {
    test.each(['SELECT', 'SELECT, INSERT, UPDATE', 'SELECT, UPDATE, DELETE', 'INSERT, UPDATE, DELETE', ''])(
      'check rejects a user with the rights %s',
      async (rights) => {
        for (const one of allOf(open(await userWith(rights)))) {
          await expect(one.check()).rejects.toMatchObject(
            unavailable(/^The user of this connection has no rights on `app`\.`tix_webhooks/),
          )
        }
      },
    )

    test('check passes with the rights that the app needs, and writes nothing', async () => {
      await mysqlStore(open(at)).claim(CLAIM)
      const before = await run(
        'CHECKSUM TABLE tix_webhooks, tix_webhooks_inbox, tix_webhooks_inbox_locks, tix_webhooks_failures',
      )
      const pool = open(await userWith('SELECT, INSERT, UPDATE, DELETE'))
      for (const one of allOf(pool)) await one.check()
      expect(
        await run(
          'CHECKSUM TABLE tix_webhooks, tix_webhooks_inbox, tix_webhooks_inbox_locks, tix_webhooks_failures',
        ),
      ).toEqual(before)
      await expect(mysqlStore(pool, { table: 'another' }).migrate()).rejects.toMatchObject(
        unavailable(/no rights on .*migrate\(\) CREATE/),
      )
    })

    test('check and each call reject on a server that is read-only', async () => {
      const pool = open(await userWith('SELECT, INSERT, UPDATE, DELETE'))
      await setGlobal('read_only', 1)
      const [store, inbox, failures] = [mysqlStore(pool), mysqlInbox(pool), mysqlFailures(pool)]
      const calls = [
        ...[store, inbox, failures].map((one) => () => one.check()),
        () => store.claim(CLAIM),
        () => store.complete(CLAIM, HOUR_MS),
        () => inbox.once(ONCE, () => expect.fail('It ran')),
        () => failures.keep(failedDelivery()),
      ]
      for (const call of calls)
        await expect(call()).rejects.toMatchObject(
          unavailable(/^This server is read-only, such as a replica/),
        )
    })

    test('check rejects where there is no table, no server, and for a wrong password', async () => {
      const url = new URL(at.url)
      const soon = { more: name === 'mariadb' ? { acquireTimeout: 150 } : {} }
      const expectAll = (pool: AnyPool, message: RegExp) =>
        Promise.all(allOf(pool).map((one) => expect(one.check()).rejects.toMatchObject(unavailable(message))))
      url.pathname = '/mysql'
      await expectAll(
        open({ url: url.href }),
        /^The table `mysql`\.`tix_webhooks\w*` is missing: run \w+\.migrate\(\)/,
      )
      url.username = 'root'
      url.password = 'hunter2'
      await expectAll(
        open({ url: url.href }, soon),
        /^The server refused the user or the password of the connection/,
      )
      url.port = String(await freePort())
      await expectAll(
        open({ url: url.href }, soon),
        /^There is no server at the host and port of the connection/,
      )
    })

    test('a pool without autocommit is refused by the store, and no matter to the others', async () => {
      await setGlobal('autocommit', 0)
      const pool = open(at)
      await expect(mysqlStore(pool).claim(CLAIM)).rejects.toMatchObject(
        unavailable(/^The connections of this pool have autocommit off/),
      )
      const inbox = mysqlInbox(pool)
      expect(await inbox.once(ONCE, async () => {})).toEqual({ status: 'handled' })
      expect(await mysqlFailures(pool).keep(failedDelivery())).toBe('failing')
      expect(await run('SELECT COUNT(*) AS n FROM tix_webhooks_inbox JOIN tix_webhooks_failures')).toEqual([
        { n: 1 },
      ])
    })

    test.each([
      [0, 1],
      [1, 0],
      [2, 1],
    ])('innodb_flush_log_at_trx_commit = %i is warned of %i times', async (value, times) => {
      await setGlobal('innodb_flush_log_at_trx_commit', value)
      const warnings = vi.spyOn(console, 'warn').mockImplementation(() => {})
      onTestFinished(() => warnings.mockRestore())
      const pool = open(at)
      for (const _ of [1, 2]) for (const one of allOf(pool)) await one.check()
      expect(warnings).toHaveBeenCalledTimes(times)
      if (times > 0)
        expect(warnings).toHaveBeenCalledWith(
          expect.stringMatching(/^tix-webhooks: innodb_flush_log_at_trx_commit of this server is not 1/),
        )
    })

    test('a max_allowed_packet that is too small is named', async () => {
      await setGlobal('max_allowed_packet', 65_536)
      const failures = mysqlFailures(open(at))
      const large = failedDelivery({ rawBody: new Uint8Array(100_000) })
      await expect(failures.keep(large)).rejects.toMatchObject(
        unavailable(/larger than max_allowed_packet of the server/),
      )
      expect(await failures.keep(failedDelivery({ rawBody: new Uint8Array(20_000) }))).toBe('failing')
      expect((await failures.get('test/order.created/ord_1'))?.rawBody).toHaveLength(20_000)
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
        expect(await run('SELECT id FROM effects UNION ALL SELECT run FROM tix_webhooks_inbox')).toEqual([])
      },
    )

    test('a row that a migration holds is named when it is not free in time', async () => {
      const store = mysqlStore(open(at, { session: ['SET innodb_lock_wait_timeout = 0'] }))
      await store.claim(CLAIM)
      const other = await createConnection(at.url)
      onTestFinished(() => other.end())
      await other.query('START TRANSACTION')
      await other.query('SELECT * FROM tix_webhooks FOR UPDATE')
      await expect(store.claim({ ...CLAIM, token: 'other' })).rejects.toMatchObject(
        unavailable(/^A lock was not free within innodb_lock_wait_timeout: .*hold `app`\.`tix_webhooks`/),
      )
    })
  })

  test('a server that was restarted is used again, over both clients', async () => {
    const pools = POOLS.map(({ name, open }) => {
      const pool = open(at)
      return { name, store: mysqlStore(pool), inbox: mysqlInbox(pool) }
    })
    for (const { store, inbox } of pools) {
      await store.check()
      await inbox.check()
    }
    await server.restart('SIGKILL')
    for (const { name, store, inbox } of pools) {
      // The connections of the pool are gone, which it may learn only by their use.
      await vi.waitFor(() => store.check(), { timeout: 5_000 })
      await vi.waitFor(() => inbox.check(), { timeout: 5_000 })
      expect(await store.claim({ ...CLAIM, key: name })).toEqual({ status: 'claimed', attempt: 1 })
      expect(await inbox.once({ ...ONCE, key: name }, async () => {})).toEqual({ status: 'handled' })
    }
  })
})
