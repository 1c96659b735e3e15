import { Pool, type PoolClient } from 'pg'
import { postgresInbox } from 'tix-webhooks/postgres'
import { expect, onTestFinished, test } from 'vitest'
import { orderCreated } from '../../../support/deliveries.js'
import { onPostgres } from '../../../support/on-servers.js'
import { testDatabase } from '../../../support/postgres-database.js'
import { endpoint } from '../../../support/postgres-endpoint.js'

onPostgres('two tables of one name, in schemas of their own', () => {
  const databases = [testDatabase(), testDatabase()]

  test('do not take the events of the other for ones in flight', async () => {
    const [first, second] = await Promise.all(
      databases.map(async (database) => {
        const pool = new Pool({ connectionString: database.url, options: database.settings() })
        onTestFinished(() => pool.end())
        const inbox = postgresInbox(pool)
        await inbox.migrate()
        return inbox
      }),
    )
    const request = { key: 'same', retainMs: 9e9 }
    let inside: unknown[] = []
    const outside = await first?.once(request, async () => {
      inside = [await first.once(request, async () => {}), await second?.once(request, async () => {})]
    })
    const statuses = ['handled', 'in_flight', 'handled']
    expect([outside, ...inside]).toEqual(statuses.map((status) => ({ status })))
  })
})

onPostgres('the connection of an inbox over pg', () => {
  const database = testDatabase('CREATE TABLE effects (id text)')
  const options = () => ({ connectionString: database.url, options: database.settings(), max: 1 })

  test.each(['release', 'end'] as const)(
    'is not given away by a handler that calls ctx.tx.%s()',
    async (method) => {
      const pool = new Pool(options())
      onTestFinished(() => pool.end())
      const inbox = postgresInbox(pool)
      await inbox.migrate()
      let isReleasing = true
      const { send, reports } = await endpoint({
        inbox,
        on: {
          'order.created': async (event, { tx }) => {
            await tx.query('INSERT INTO effects VALUES ($1)', [`${method} ${event.data.order.id}`])
            if (isReleasing) await (tx as unknown as Record<'release' | 'end', () => unknown>)[method]()
          },
        },
      })
      const order = orderCreated({ id: `once-${method}` })
      expect((await send(order)).status).toBe(500)
      expect(reports.at(-1)?.message).toMatch(
        /^ctx\.tx is the connection of the inbox, which releases it itself/,
      )
      expect([pool.totalCount, pool.idleCount]).toEqual([1, 1])
      isReleasing = false
      expect((await send(order)).status).toBe(200)
      expect(await database.column(`SELECT id FROM effects WHERE id LIKE '${method}%'`)).toEqual([
        `${method} once-${method}`,
      ])
    },
  )

  test('may come from a pool whose connect is wrapped by an async function', async () => {
    class LoggedPool extends Pool {
      override connect(): Promise<PoolClient>
      override connect(callback: never): void
      override async connect(...args: unknown[]): Promise<PoolClient> {
        return Reflect.apply(super.connect, this, args) as Promise<PoolClient>
      }
    }
    const pool = new LoggedPool(options())
    onTestFinished(() => pool.end())
    const inbox = postgresInbox(pool)
    await inbox.migrate()
    expect(await inbox.once({ key: 'wrapped', retainMs: 9e9 }, async () => {})).toEqual({ status: 'handled' })
    expect([pool.totalCount, pool.idleCount]).toEqual([1, 1])
  })
})
