import { mysqlInbox, mysqlStore } from 'tix-webhooks/mysql'
import { postgresInbox, postgresStore } from 'tix-webhooks/postgres'
import { expect, test, vi } from 'vitest'
import { never } from '../support/promises.js'
import { advance, useVirtualTime } from '../support/virtual-time.js'

useVirtualTime()

const claimOf = (key: string) => ({ key, token: key, leaseMs: 60_000, retainMs: 3_600_000 })
const table = 'app.webhooks'
const silent = { code: 'store_unavailable', message: expect.stringContaining('within 10 s') }

// As `pg` does without connectionTimeoutMillis, if a connection is accepted and never answered.
test('a pool of Postgres that gives no connection for some calls holds up the store for 10 s, no longer', async () => {
  let asked = 0
  const pool = {
    totalCount: 0,
    connect: () => never<never>(),
    query() {
      asked += 1
      return never<never>()
    },
  }
  const store = postgresStore(pool, { table })
  const held: unknown[] = []
  for (const key of ['a', 'b']) {
    store.claim(claimOf(key)).catch((error: unknown) => held.push(error))
    await advance(0)
  }
  void store.claim(claimOf('c')).catch(() => {})
  await advance(9.999)
  expect([asked, held]).toEqual([2, []])
  await advance(0.001)
  expect(held).toMatchObject([silent, silent])
  void store.claim(claimOf('d')).catch(() => {})
  await advance(0)
  // Not the third, which nobody waits for any longer.
  expect(asked).toBe(3)
  await advance(10)
})

// As mysql2 does, which has no time limit for a pool without a free connection.
test('a pool of MySQL that gives no connection holds up the store for 10 s, no longer, and gets a late one back', async () => {
  const release = vi.fn()
  const late: ((connection: object) => void)[] = []
  const pool = {
    query: () => never(),
    end: async () => {},
    getConnection: () => new Promise<never>((resolve) => late.push(resolve as never)),
  }
  const failed = vi.fn()
  mysqlStore(pool, { table }).claim(claimOf('a')).catch(failed)
  await advance(9.999)
  expect([late.length, failed.mock.calls]).toEqual([1, []])
  await advance(0.001)
  expect(failed).toHaveBeenCalledWith(expect.objectContaining(silent))
  late[0]?.({ release })
  await advance(0)
  expect(release).toHaveBeenCalledOnce()
})

/** The verdict on an event that this run has handled, at its first attempt. */
const HANDLED = 2 + 4 + 32

/** Neither COMMIT nor ROLLBACK is answered. */
function silentPostgres() {
  const client = {
    on() {},
    off() {},
    release: vi.fn(),
    async query(statement: string | { readonly text: string }) {
      const text = typeof statement === 'string' ? statement : statement.text
      if (/(COMMIT|ROLLBACK)$/.test(text)) return never<never>()
      const row = text.includes('server_encoding')
        ? { schema: 'x', utf: true }
        : { verdict: HANDLED, id: '7' }
      return { rows: [row], command: 'SELECT', rowCount: 1 }
    },
  }
  const pool = { totalCount: 0, connect: async () => client, query: client.query }
  return { inbox: postgresInbox(pool, { table }), givenUp: client.release, sent: undefined }
}

function silentMysql() {
  const sent = vi.fn()
  const connection = {
    threadId: 7,
    on() {},
    removeListener() {},
    destroy: vi.fn(),
    release() {},
    async query({ sql }: { sql: string }) {
      sent(sql.trim())
      if (/autocommit = 1|^ROLLBACK/.test(sql)) return never<never>()
      return /^\s*SELECT CONCAT\('x', HEX\(COALESCE/.test(sql)
        ? [[['x']], undefined]
        : [{ affectedRows: 1, insertId: 2 + HANDLED }, undefined]
    },
  }
  const pool = { query: () => never(), end: async () => {}, getConnection: async () => connection }
  return { inbox: mysqlInbox(pool, { table }), givenUp: connection.destroy, sent }
}

// The oldest versions of `pg` have no time limit for one statement.
test.each([silentPostgres, silentMysql])(
  'a commit that is never answered gives the connection up after 30 s, and the two of a rollback: %o',
  async (open) => {
    const { inbox, givenUp, sent } = open()
    const failed = vi.fn()
    inbox.once({ key: 'k', retainMs: 3_600_000 }, async () => {}).catch(failed)
    await advance(31.999)
    expect([failed.mock.calls, givenUp.mock.calls]).toEqual([[], []])
    await advance(0.001)
    expect(failed).toHaveBeenCalledWith(expect.objectContaining({ code: 'store_unavailable' }))
    expect(givenUp).toHaveBeenCalledOnce()
    // To pg, an error says that it is broken.
    if (sent === undefined) expect(givenUp).toHaveBeenCalledWith(expect.any(Error))
    else expect(sent).toHaveBeenCalledWith('KILL 7')
  },
)
