import { memoryFailures, StoreError } from 'tix-webhooks'
import { describe, expect, test } from 'vitest'
import { failedDelivery } from '../../../support/failed-delivery.js'

const DAY_MS = 86_400_000

const failed = (key: string, failedAt = new Date()) => failedDelivery({ key, failedAt })

describe('full memory failures', () => {
  test('reject a further event, which says what to use, and keep what they have', async () => {
    const failures = memoryFailures({ maxKeys: 2 })
    await failures.keep(failed('tix/1'))
    await failures.keep(failed('tix/2'))
    const error = await failures.keep(failed('tix/3')).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(StoreError)
    expect(error).toMatchObject({
      code: 'store_full',
      message:
        'memoryFailures holds 2 failures already (maxKeys), so this one is not kept. Use the failures of a database: postgresFailures, mysqlFailures or sqliteFailures.',
    })
    expect((await failures.list()).map(({ key }) => key)).toEqual(['tix/2', 'tix/1'])
  })

  test('count a further attempt of an event that they have, and have room after a delete', async () => {
    const failures = memoryFailures({ maxKeys: 1 })
    await failures.keep(failed('tix/1'))
    await failures.keep(failed('tix/1'))
    expect((await failures.get('tix/1'))?.attempts).toBe(2)
    await failures.delete('tix/1')
    expect(await failures.keep(failed('tix/2'))).toBe('failing')
  })
})

test.each([
  ['30 days', undefined, 30],
  ['as long as it is told', 7 * 86_400, 7],
])(
  'the purge keeps a failure for %s by its own clock, 1,000 at a time',
  async (_, retentionSeconds, days) => {
    let now = 0
    const failures = memoryFailures({ retentionSeconds, maxKeys: 2_000, now: () => now })
    for (let index = 0; index < 1_001; index++) await failures.keep(failed(`tix/${index}`, new Date(0)))
    now = days * DAY_MS
    expect(await failures.purge()).toBe(0)
    now += 1
    expect(await failures.purge({ limit: 1 })).toBe(1)
    expect(await failures.purge()).toBe(1_000)
    expect(await failures.count()).toBe(0)
  },
)

test.each<[string, object, string]>([
  ['maxKeys', { maxKeys: 0 }, 'maxKeys must be a whole number'],
  [
    'a short retention',
    { retentionSeconds: 3_600 },
    'retentionSeconds must be a number of seconds from 262800 (73 h',
  ],
  ['a retention in milliseconds', { retentionSeconds: 30 * DAY_MS * 2 }, 'to 3153600000, not 5184000000'],
  ['a clock that is none', { now: 5 }, 'now must be a function'],
  ['an unknown option', { table: 'failures' }, 'table'],
])('what is invalid is refused: %s', (_, options, told) => {
  expect(() => memoryFailures(options)).toThrow(TypeError)
  expect(() => memoryFailures(options)).toThrow(told)
})
