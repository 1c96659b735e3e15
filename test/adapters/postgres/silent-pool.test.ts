import { postgresInbox, postgresStore } from 'tix-webhooks/postgres'
import { expect, test, vi } from 'vitest'
import { never } from '../../support/promises.js'
import { advance, useVirtualTime } from '../../support/virtual-time.js'

useVirtualTime()

const claimOf = (key: string) => ({ key, token: key, leaseMs: 60_000, retainMs: 3_600_000 })

// As `pg` does without connectionTimeoutMillis, if a connection is accepted and never answered.
test('a pool that gives no connection for some calls holds up the store for 10 s, no longer', async () => {
  let asked = 0
  const pool = {
    totalCount: 0,
    connect: () => never<never>(),
    query() {
      asked += 1
      return never<never>()
    },
  }
  const store = postgresStore(pool, { table: 'app.webhooks' })
  const held: unknown[] = []
  for (const key of ['a', 'b']) {
    store.claim(claimOf(key)).catch((error: unknown) => held.push(error))
    await advance(0)
  }
  void store.claim(claimOf('c')).catch(() => {})
  await advance(9.999)
  expect([asked, held]).toEqual([2, []])
  await advance(0.001)
  const silent = { code: 'store_unavailable', message: expect.stringContaining('within 10 s') }
  expect(held).toMatchObject([silent, silent])
  void store.claim(claimOf('d')).catch(() => {})
  await advance(0)
  // Not the third, which nobody waits for any longer.
  expect(asked).toBe(3)
  await advance(10)
})

// The oldest versions of `pg` have no time limit for one statement.
test('a COMMIT that is never answered gives the connection up after 30 s, and the two of the ROLLBACK', async () => {
  const release = vi.fn()
  const client = {
    on() {},
    off() {},
    release,
    async query(statement: string | { readonly text: string }) {
      const text = typeof statement === 'string' ? statement : statement.text
      if (/(COMMIT|ROLLBACK)$/.test(text)) return never<never>()
      return { rows: [{ locked: true, fresh: true, id: '7' }], command: 'SELECT', rowCount: 1 }
    },
  }
  const pool = { totalCount: 0, connect: async () => client, query: client.query }
  const inbox = postgresInbox(pool, { table: 'app.webhooks' })
  const failed = vi.fn()
  inbox.once({ key: 'k', retainMs: 3_600_000 }, async () => {}).catch(failed)
  await advance(31.999)
  expect([failed.mock.calls, release.mock.calls]).toEqual([[], []])
  await advance(0.001)
  expect(failed).toHaveBeenCalledWith(expect.objectContaining({ code: 'store_unavailable' }))
  expect(release).toHaveBeenCalledWith(expect.any(Error))
})
