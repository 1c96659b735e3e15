import {
  createReceiver,
  type Failure,
  type Failures,
  memoryFailures,
  type Outcome,
  type Replayed,
} from 'tix-webhooks'
import { expectTypeOf, test } from 'vitest'

test('a replay has one outcome for a key, and a list of them for a filter', async () => {
  const { replay } = createReceiver<URL>({ secret: 's', on: {}, failures: memoryFailures() })
  expectTypeOf(await replay('key')).toEqualTypeOf<Outcome | undefined>()
  expectTypeOf(await replay({ group: 'g', limit: 5 }, { request: new URL('http://x') })).toEqualTypeOf<
    readonly Replayed[]
  >()
  // @ts-expect-error the request is that of the framework
  await replay('key', { request: new Request('http://x') })
})

test('failures of the user’s own may answer without a promise, and ours never do', () => {
  const kept = new Map<string, Failure>()
  const own: Failures = {
    keep: ({ key, failedAt, isReplay: _, parkAfter: __, ...rest }) => {
      kept.set(key, {
        ...rest,
        key,
        state: 'failing',
        firstAt: failedAt,
        lastAt: failedAt,
        attempts: 1,
        replays: 0,
      })
      return 'failing'
    },
    get: (key) => kept.get(key),
    delete: (key) => kept.delete(key),
    list: () => [...kept.values()],
    groups: () => [],
    count: () => kept.size,
  }
  createReceiver({ secret: 's', on: {}, failures: own, parkAfter: { attempts: 3 } })
  createReceiver({ secret: 's', on: {}, failures: own, parkAfter: { hours: 20, attempts: undefined } })
  // @ts-expect-error it parks nothing
  createReceiver({ secret: 's', on: {}, failures: own, parkAfter: {} })
})
