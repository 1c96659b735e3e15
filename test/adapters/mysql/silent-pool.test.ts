import { mysqlInbox, mysqlStore } from 'tix-webhooks/mysql'
import { expect, test, vi } from 'vitest'
import { never } from '../../support/promises.js'
import { advance, useVirtualTime } from '../../support/virtual-time.js'

useVirtualTime()

const claimOf = (key: string) => ({ key, token: key, leaseMs: 60_000, retainMs: 3_600_000 })

// As mysql2 does, which has no time limit for a pool without a free connection.
test('a pool that gives no connection holds up the store for 10 s, no longer, and gets a late one back', async () => {
  const release = vi.fn()
  const late: ((connection: object) => void)[] = []
  const pool = {
    query: () => never(),
    end: async () => {},
    getConnection: () => new Promise<never>((resolve) => late.push(resolve as never)),
  }
  const store = mysqlStore(pool, { table: 'app.webhooks' })
  const failed = vi.fn()
  store.claim(claimOf('a')).catch(failed)
  await advance(9.999)
  expect([late.length, failed.mock.calls]).toEqual([1, []])
  await advance(0.001)
  expect(failed).toHaveBeenCalledWith(
    expect.objectContaining({ code: 'store_unavailable', message: expect.stringContaining('within 10 s') }),
  )
  late[0]?.({ release })
  await advance(0)
  expect(release).toHaveBeenCalledOnce()
})

/** A pool whose connection answers all but what matches. */
function silentAt(pattern: RegExp) {
  const [destroy, release, sent] = [vi.fn(), vi.fn(), vi.fn()]
  const connection = {
    threadId: 7,
    on() {},
    removeListener() {},
    destroy,
    release,
    async query({ sql }: { sql: string }) {
      sent(sql.trim())
      if (pattern.test(sql)) return never<never>()
      return /^\s*SELECT CONCAT\('x', HEX\(COALESCE/.test(sql)
        ? [[['x']], undefined]
        : [{ affectedRows: 1, insertId: 0 }, undefined]
    },
  }
  const pool = { query: () => never(), end: async () => {}, getConnection: async () => connection }
  return { pool, destroy, release, sent }
}

test('a commit that is never answered gives the connection up after 30 s and the time of a rollback, and ends its session', async () => {
  const { pool, destroy, sent } = silentAt(/autocommit = 1|^ROLLBACK/)
  const failed = vi.fn()
  mysqlInbox(pool, { table: 'app.webhooks' })
    .once({ key: 'k', retainMs: 3_600_000 }, async () => {})
    .catch(failed)
  await advance(31.999)
  expect([failed.mock.calls, destroy.mock.calls]).toEqual([[], []])
  await advance(0.001)
  expect(failed).toHaveBeenCalledWith(expect.objectContaining({ code: 'store_unavailable' }))
  expect(destroy).toHaveBeenCalledOnce()
  expect(sent).toHaveBeenCalledWith('KILL 7')
})
