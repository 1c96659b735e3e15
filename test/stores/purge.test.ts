import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { deferred } from '../support/promises.js'
import { BACKENDS, onceOf, TABLE, WRITING } from './backends.js'

const HOUR_MS = 3_600_000
const PARTS = ['store', 'inbox'] as const

for (const { name, server, describe, prepare } of BACKENDS) {
  describe(`purge of ${name}`, () => {
    const database = prepare()
    beforeEach(async () => {
      const warnings = vi.spyOn(console, 'warn').mockImplementation(() => {})
      onTestFinished(() => warnings.mockRestore())
      await database.open().inbox.migrate()
      await database.query(`DELETE FROM ${TABLE}`)
    })

    const keys = async () =>
      (await database.column(`SELECT event_key FROM ${TABLE} ORDER BY received_at`)).map(String)

    /** Writes a row of another kind for each, which is past its retention for so many hours, and one that is not. */
    async function fill(expired: readonly number[]): Promise<void> {
      const pair = database.open()
      for (const [i, hours] of expired.entries()) {
        const key = `old ${hours}`
        await WRITING[i % WRITING.length]?.(pair, key)
        const at = Date.now() - hours * HOUR_MS
        // Older than the retention of what may be written now.
        await database.query(
          `UPDATE ${TABLE} SET received_at = ${at - 24 * HOUR_MS}, expires_at = ${at} WHERE event_key = '${key}'`,
        )
      }
      await WRITING[0]?.(pair, 'kept')
    }

    test.each(PARTS)('by the %s deletes the oldest, no more than asked for, and no other', async (part) => {
      await fill([3, 1, 4, 2])
      const { [part]: purged } = database.open()
      expect(await purged.purge({ limit: 2 })).toBe(2)
      expect(await keys()).toEqual(['old 2', 'old 1', 'kept'])
      expect(console.warn).not.toHaveBeenCalled()
      expect([await purged.purge(), await purged.purge()]).toEqual([2, 0])
      expect(await keys()).toEqual(['kept'])
      expect(vi.mocked(console.warn).mock.calls).toEqual([
        [expect.stringMatching(/^tix-webhooks: parked events, .* past their retention: 1\.$/)],
      ])
    })

    test.each([0, 1])('is on the back of a call that writes, if it is due: %i', async (i) => {
      await fill([1])
      const pair = database.open({ purgeEverySeconds: 60 })
      const later = performance.now() + 60_000
      const clock = vi.spyOn(performance, 'now').mockReturnValue(later)
      onTestFinished(() => clock.mockRestore())
      const write = (key: string) => WRITING[i]?.(pair, key)
      await write('first')
      await expect.poll(keys).toEqual(['kept', 'first'])
      await fill([1])
      clock.mockReturnValue(later + 59_999)
      await write('second')
      // Nothing is due, so it is still there.
      expect(await database.open().store.purge()).toBe(1)
    })

    if (server !== 'sqlite') {
      test.each(PARTS)(
        'by the %s leaves alone what another transaction holds, and waits for none',
        async (part) => {
          await fill([1, 2])
          const release = await database.hold?.(`SELECT * FROM ${TABLE} WHERE event_key = 'old 2' FOR UPDATE`)
          const { [part]: purged } = database.open()
          expect([await purged.purge(), await purged.purge()]).toEqual([1, 0])
          await release?.()
          expect(await purged.purge()).toBe(1)
        },
      )

      test.each(PARTS)(
        'by the %s leaves alone what a handler runs, and what it has recorded',
        async (part) => {
          await fill([1, 2, 3])
          const { inbox, [part]: purged } = database.open()
          const [entered, leave] = [deferred(), deferred()]
          const handling = inbox.once(onceOf('old 2'), () => {
            entered.resolve()
            return leave.promise
          })
          await entered.promise
          expect([await purged.purge(), await purged.purge()]).toEqual([2, 0])
          leave.resolve()
          expect(await handling).toEqual({ status: 'handled' })
          expect(await purged.purge()).toBe(0)
          expect(await inbox.once(onceOf('old 2'), async () => {})).toEqual({ status: 'duplicate' })
        },
      )
    }
  })
}
