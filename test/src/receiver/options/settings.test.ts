import { createReceiver, memoryFailures, memoryStore, type WebhookOptions } from 'tix-webhooks'
import { describe, expect, test } from 'vitest'
import { SECRET } from '../../../support/deliveries.js'
import { handler, make } from '../../../support/make-receiver.js'

const DAY = 86_400

const failures = memoryFailures()

/** A store with one invalid method. */
function brokenStore(change: Record<string, unknown>): unknown {
  return { ...memoryStore(), ...change }
}

class Hooks {
  'order.created'() {}
}

const INHERITING = /^on must be a plain object, not an instance of a class or an object that inherits: /

const REFUSED: readonly [what: string, options: Record<string, unknown>, message: RegExp][] = [
  ['no secret', { secret: undefined }, /^secret is undefined: pass the signing secret.*environment variable/],
  ['a list with a hole', { secret: [SECRET, undefined] }, /^secret\[1\] is undefined/],

  ['no on', { on: undefined }, /^on must be a plain object of handlers by kind, such as .*not undefined/],
  ['an empty on', { on: {} }, /^on is empty and there is no onUnhandled: every event would be answered 200/],
  ['an instance of a class as on', { on: new Hooks() }, INHERITING],
  ['an on that inherits its handlers', { on: Object.create({ 'order.created': handler }) }, INHERITING],
  [
    'an on with a hidden property that is no kind',
    { on: Object.defineProperty({ 'order.created': handler }, 'order.create', { value: handler }) },
    /^on\["order\.create"\] is not a kind/,
  ],
  [
    'schemas that are inherited',
    { schemas: Object.create({ 'order.refunded': {} }) },
    /^schemas must be a plain object of schemas by kind, not an instance of a class/,
  ],
  [
    'a handler that is undefined, and no other',
    { on: { 'order.created': undefined } },
    /^on is empty and there is no onUnhandled/,
  ],

  [
    'a schema that is no Standard Schema',
    { schemas: { 'order.refunded': { parse() {} } } },
    /^schemas\["order\.refunded"\] must be a Standard Schema.*unchecked/,
  ],

  [
    'a store without namespace',
    { store: memoryStore() },
    /^namespace is required with store, inbox and failures: .*namespace: 'orders'/,
  ],
  ['failures without namespace', { failures: memoryFailures() }, /^namespace is required with store, inbox/],
  ['a namespace with a slash', { namespace: 'a/b' }, /^namespace must be 1 to 64 characters/],
  ['a namespace of 65 characters', { namespace: 'x'.repeat(65) }, /^namespace must be 1 to 64 characters/],
  [
    'a raw client as store',
    { store: { get() {}, set() {} }, namespace: 'n' },
    /^store must be an IdempotencyStore: its claim is not a function.*ioredis/,
  ],
  [
    'a store without claim',
    { store: brokenStore({ claim: undefined }), namespace: 'n' },
    /its claim is not a function/,
  ],
  [
    'a store without complete',
    { store: brokenStore({ complete: 1 }), namespace: 'n' },
    /its complete is not a function/,
  ],
  [
    'a store without release',
    { store: brokenStore({ release: null }), namespace: 'n' },
    /its release is not a function/,
  ],
  [
    'a lease that a busy event loop outlasts',
    { leaseSeconds: 0.099 },
    /^leaseSeconds must be a number of seconds that is at least 0\.1 and at most 2147483, not 0\.099/,
  ],

  ['a tolerance of 0', { toleranceSeconds: 0 }, /^toleranceSeconds must be a finite number above 0.*259200/],
  [
    'a retention under 73 h',
    { retentionSeconds: 73 * 3600 - 1 },
    /^retentionSeconds must be .*at least 262800 and at most \d+, not 262799: the sender retries for 72 h/,
  ],
  [
    'an endless retention',
    { retentionSeconds: Number.POSITIVE_INFINITY },
    /^retentionSeconds must be a number of at least .* and at most \d+, not Infinity/,
  ],
  ['a retention of null', { retentionSeconds: null as never }, /^retentionSeconds must be .*not null/],
  [
    'a tolerance over the default retention',
    { toleranceSeconds: 8 * DAY },
    /^retentionSeconds must be .*at least 691200/,
  ],
  [
    'a lease longer than the retention',
    { leaseSeconds: 6 * DAY, retentionSeconds: 5 * DAY },
    /retentionSeconds/,
  ],
  [
    'a run longer than the retention',
    { maxRunSeconds: 6 * DAY, retentionSeconds: 5 * DAY },
    /retentionSeconds/,
  ],

  ['a body limit of 0', { maxBodyBytes: 0 }, /^maxBodyBytes must be a whole number of at least 1, not 0/],

  ['key that is no function', { key: 'order.id' }, /^key must be a function, not a string/],
  ['onDelivery that is no function', { onDelivery: {} }, /^onDelivery must be a function, not an object/],
  ['onError that is no function', { onError: null }, /^onError must be a function, not null/],
  [
    'now that is no function',
    { now: 1_760_000_000_000 },
    /^now must be a function that returns milliseconds, not 1760000000000/,
  ],
  [
    'another unit of t',
    { signature: { timestampUnit: 'us' } },
    /^signature\.timestampUnit must be "s" or "ms"/,
  ],

  [
    'an option that there is not',
    { tolerance: 300 },
    /^There is no option tolerance\. The options are secret, account, on,/,
  ],
  ['parkAfter without failures', { parkAfter: { attempts: 3 } }, /^parkAfter needs the option failures/],
  ['an empty parkAfter', { failures, namespace: 'n', parkAfter: {} }, /^parkAfter is empty/],
  [
    'no attempts',
    { failures, namespace: 'n', parkAfter: { attempts: 0 } },
    /^parkAfter.attempts must be a whole number/,
  ],
  [
    'no hours',
    { failures, namespace: 'n', parkAfter: { hours: 0 } },
    /^parkAfter.hours must be a number above 0/,
  ],
  [
    'endless hours',
    { failures, namespace: 'n', parkAfter: { hours: Infinity } },
    /^parkAfter.hours must be a number above 0/,
  ],
  ['days', { failures, namespace: 'n', parkAfter: { days: 1 } }, /no option parkAfter.days/],
  ['a number as parkAfter', { failures, namespace: 'n', parkAfter: 8 }, /^parkAfter.* must be an object/],
  ['failures that are none', { failures: {}, namespace: 'n' }, /^failures must be made by postgresFailures/],
  ['null as failures', { failures: null, namespace: 'n' }, /^failures must be made by postgresFailures/],
]

const TIMERS = ['timeoutSeconds', 'maxRunSeconds', 'leaseSeconds'] as const

describe('a receiver is not made', () => {
  test.each(REFUSED)('with %s', (_, options, message) => {
    expect(() => make(options)).toThrow(TypeError)
    expect(() => make(options)).toThrow(message)
  })

  // A timer of more than some 24.8 days fires at once.
  test.each(
    TIMERS.flatMap((option) =>
      [
        ...[0, -1, Number.NaN, Number.POSITIVE_INFINITY, 2_147_484].map(
          (value) => [value, String(value)] as const,
        ),
        ['10', '"10"'] as const,
        [true, 'a boolean'] as const,
      ].map(([value, shown]) => ({ option, value, shown })),
    ),
  )('with $option: $value', ({ option, value, shown }) => {
    expect(() => make({ [option]: value })).toThrow(TypeError)
    expect(() => make({ [option]: value })).toThrow(
      new RegExp(
        `^${option} must be a number of seconds (above 0|that is at least 0.1) and at most 2147483, not ${shown}`,
      ),
    )
  })

  test.each([
    ['nothing', undefined, 'undefined'],
    ['null', null, 'null'],
    ['a secret alone', SECRET, 'a string'],
  ])('of %s', (_, options, type) => {
    const create = (): unknown => createReceiver(options as unknown as WebhookOptions)
    expect(create).toThrow(TypeError)
    expect(create).toThrow(new RegExp(`^options must be an object of secret, account, on.*not ${type}`))
  })
})
