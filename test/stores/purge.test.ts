import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { failedDelivery } from '../support/failed-delivery.js'
import { deferred } from '../support/promises.js'
import { BACKENDS, onceOf, TABLES, WRITING } from './backends.js'

type Part = keyof typeof TABLES
const PARTS = Object.keys(TABLES) as Part[]
const HOUR_MS = 3_600_000
const FAILURES_KEPT_HOURS = 30 * 24

/** The clients have timers, too. */
async function ticking(work: Promise<unknown>): Promise<void> {
  let isOver = false
  const over = () => {
    isOver = true
  }
  work.then(over, over)
  while (!isOver) await vi.advanceTimersByTimeAsync(0)
  await work
}

for (const { name, server, describe, prepare } of BACKENDS) {
  describe(`purge of ${name}`, () => {
    const database = prepare()
    beforeEach(async () => {
      const { store, inbox, failures } = database.open()
      for (const part of [store, inbox, failures]) await part.migrate()
      for (const table of Object.values(TABLES)) await database.query(`DELETE FROM ${table}`)
    })

    /** Writes a record that is past its retention for so many hours. */
    async function writeExpired(part: Part, key: string, hours: number): Promise<void> {
      const failedAt = new Date(Date.now() - (FAILURES_KEPT_HOURS + hours) * HOUR_MS)
      await WRITING[part](database.open(), key, failedDelivery({ failedAt }))
      if (part === 'failures') return
      const columns = part === 'store' && server !== 'sqlite' ? ['expires_at', 'purge_after'] : ['expires_at']
      const set = columns.map((column) => `${column} = ${database.ago(hours)}`)
      await database.query(`UPDATE ${TABLES[part]} SET ${set} WHERE ${TABLES[part]}.key = '${key}'`)
    }

    async function keys(part: Part): Promise<string[]> {
      const [table, by] = [TABLES[part], part === 'failures' ? 'last_at' : 'expires_at']
      return (await database.column(`SELECT ${table}.key FROM ${table} ORDER BY ${by}`)).map(String)
    }

    async function fill(part: Part, expired: readonly number[]): Promise<void> {
      await WRITING[part](database.open(), 'kept', failedDelivery({ failedAt: new Date() }))
      for (const hours of expired) await writeExpired(part, `old ${hours}`, hours)
    }

    test.each(PARTS)('of the %s deletes the oldest, no more than asked for, and no other', async (part) => {
      await fill(part, [3, 1, 4, 2])
      const { [part]: purged } = database.open()
      expect(await purged.purge({ limit: 2 })).toBe(2)
      expect(await keys(part)).toEqual(['old 2', 'old 1', 'kept'])
      expect([await purged.purge(), await purged.purge()]).toEqual([2, 0])
      expect(await keys(part)).toEqual(['kept'])
    })

    test.each(PARTS)('of the %s begins with the first call if it is to repeat, and goes on', async (part) => {
      await writeExpired(part, 'old', 1)
      const three = database.open({ purgeEverySeconds: 60 })
      // It connects by the real timers.
      await three[part].check()
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
      onTestFinished(() => void vi.useRealTimers())
      await vi.advanceTimersByTimeAsync(600_000)
      expect(await keys(part)).toEqual(['old'])
      await ticking(WRITING[part](three, 'kept', failedDelivery({ failedAt: new Date() })))
      await vi.advanceTimersByTimeAsync(59_000)
      expect(await keys(part)).toEqual(['old', 'kept'])
      for (const _ of [1, 2]) {
        await vi.advanceTimersByTimeAsync(60_000)
        while ((await keys(part)).length > 1) await vi.advanceTimersByTimeAsync(100)
        await ticking(writeExpired(part, 'another', 1))
      }
    })

    if (server !== 'sqlite') {
      test.each(PARTS)(
        'of the %s leaves alone what another transaction holds, and waits for none',
        async (part) => {
          await fill(part, [1, 2])
          const table = TABLES[part]
          const release = await database.hold?.(
            `SELECT * FROM ${table} WHERE ${table}.key = 'old 2' FOR UPDATE`,
          )
          const { [part]: purged } = database.open()
          expect([await purged.purge(), await purged.purge()]).toEqual([1, 0])
          await release?.()
          expect(await purged.purge()).toBe(1)
        },
      )

      test('of an inbox leaves alone what a handler runs, and no longer deletes what it has recorded', async () => {
        await fill('inbox', [1, 2, 3])
        const { inbox } = database.open()
        const [entered, leave] = [deferred(), deferred()]
        const handling = inbox.once(onceOf('old 2'), () => {
          entered.resolve()
          return leave.promise
        })
        await entered.promise
        expect([await inbox.purge(), await inbox.purge()]).toEqual([2, 0])
        leave.resolve()
        expect(await handling).toEqual({ status: 'handled' })
        expect(await inbox.purge()).toBe(0)
        expect(await inbox.once(onceOf('old 2'), async () => {})).toEqual({ status: 'duplicate' })
      })
    }
  })
}
