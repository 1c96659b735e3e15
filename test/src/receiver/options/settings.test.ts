import { createReceiver, memoryFailures, memoryStore, type WebhookOptions } from 'tix-webhooks'
import { describe, expect, test } from 'vitest'
import { SECRET } from '../../../support/deliveries.js'
import { handler, make } from '../../../support/make-receiver.js'

const DAY = 86_400

/** A store with one invalid method. */
function brokenStore(change: Record<string, unknown>): unknown {
  return { ...memoryStore(), ...change }
}

class Hooks {
  'order.created'() {}
}

class FieldHooks {
  'order.created' = handler
}

const INHERITING = /^on must be a plain object, not an instance of a class or an object that inherits: /

const REFUSED: readonly [what: string, options: Record<string, unknown>, message: RegExp][] = [
  ['no secret', { secret: undefined }, /^secret is undefined: pass the signing secret.*environment variable/],
  ['null as secret', { secret: null }, /^secret is null: pass/],
  ['an empty secret', { secret: '' }, /^secret is empty: pass/],
  ['a secret of white space', { secret: ' ' }, /^secret begins or ends with white space.*trim/],
  ['a secret with a new line', { secret: 'whsec_1\n' }, /^secret begins or ends with white space/],
  ['a secret with a leading blank', { secret: ' whsec_1' }, /^secret begins or ends with white space/],
  ['a number as secret', { secret: 42 }, /^secret must be a string or a Uint8Array, not a number/],
  ['an empty list of secrets', { secret: [] }, /^secret: the list of secrets is empty; pass at least one/],
  ['a list with a hole', { secret: [SECRET, undefined] }, /^secret\[1\] is undefined/],
  ['a list with an empty secret', { secret: [SECRET, ''] }, /^secret\[1\] is empty/],
  ['a secret of no bytes', { secret: new Uint8Array() }, /^secret is empty/],
  [
    'the bytes of a text file that ends in a new line',
    { secret: new TextEncoder().encode('whsec_1\n') },
    /^secret begins or ends with white space/,
  ],

  ['no on', { on: undefined }, /^on must be a plain object of handlers by kind, such as .*not undefined/],
  ['null as on', { on: null }, /^on must be a plain object.*not null/],
  ['a function as on', { on: handler }, /^on must be a plain object.*not a function/],
  ['an empty on', { on: {} }, /^on is empty and there is no onUnhandled: every event would be answered 200/],
  ['an empty on of no prototype', { on: Object.create(null) }, /^on is empty and there is no onUnhandled/],
  ['an instance of a class as on', { on: new Hooks() }, INHERITING],
  ['an instance as on beside onUnhandled', { on: new Hooks(), onUnhandled: handler }, INHERITING],
  ['an instance whose handlers are fields', { on: new FieldHooks() }, INHERITING],
  ['an on that inherits its handlers', { on: Object.create({ 'order.created': handler }) }, INHERITING],
  [
    'an on that inherits from an object of no prototype',
    { on: Object.create(Object.assign(Object.create(null), { 'order.created': handler })) },
    INHERITING,
  ],
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
    'a misspelt kind',
    { on: { 'order.create': handler } },
    /^on\["order\.create"\] is not a kind.*There are order\.created/,
  ],
  ['a group of no kind', { on: { 'tickets.*': handler } }, /^on\["tickets\.\*"\] is not a kind.*unchecked/],
  ['a star in on', { on: { '*': handler } }, /^There is no on\["\*"\]: use onUnhandled/],
  [
    'a kind without schema',
    { on: { 'order.refunded': handler } },
    /schemas: \{ 'order\.refunded': unchecked/,
  ],
  [
    'a handler that is no function',
    { on: { 'order.created': {} } },
    /^on\["order\.created"\] must be a function.*not an object/,
  ],
  [
    'a handler that is undefined, and no other',
    { on: { 'order.created': undefined } },
    /^on is empty and there is no onUnhandled/,
  ],
  [
    'a group handler that is no function',
    { on: { 'event.*': 'x' } },
    /^on\["event\.\*"\] must be a function/,
  ],
  [
    'onUnhandled that is no function',
    { onUnhandled: true },
    /^onUnhandled must be a function.*not a boolean/,
  ],

  [
    'a schema that is no Standard Schema',
    { schemas: { 'order.refunded': { parse() {} } } },
    /^schemas\["order\.refunded"\] must be a Standard Schema.*unchecked/,
  ],
  [
    'a schema that is null',
    { schemas: { 'order.refunded': null } },
    /^schemas\["order\.refunded"\] must be.*not null/,
  ],

  [
    'a store without namespace',
    { store: memoryStore() },
    /^namespace is required with store, inbox and failures: .*namespace: 'orders'/,
  ],
  ['failures without namespace', { failures: memoryFailures() }, /^namespace is required with store, inbox/],
  ['an empty namespace', { namespace: '' }, /^namespace must be 1 to 64 characters/],
  ['a namespace with a slash', { namespace: 'a/b' }, /^namespace must be 1 to 64 characters/],
  ['a namespace with an umlaut', { namespace: 'grün' }, /^namespace must be 1 to 64 characters of A-Z/],
  ['a namespace with a new line', { namespace: 'orders\n' }, /^namespace must be 1 to 64/],
  ['a namespace of 65 characters', { namespace: 'x'.repeat(65) }, /^namespace must be 1 to 64 characters/],
  ['a namespace that is no string', { namespace: 1 }, /^namespace must be 1 to 64 characters/],
  [
    'a raw client as store',
    { store: { get() {}, set() {} }, namespace: 'n' },
    /^store must be an IdempotencyStore: its claim is not a function.*ioredis/,
  ],
  ['null as store', { store: null, namespace: 'n' }, /^store must be an IdempotencyStore/],
  [
    'a store without claim',
    { store: brokenStore({ claim: undefined }), namespace: 'n' },
    /its claim is not a function/,
  ],
  [
    'a store without renew',
    { store: brokenStore({ renew: undefined }), namespace: 'n' },
    /its renew is not a function/,
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
  ['a tolerance below 0', { toleranceSeconds: -300 }, /^toleranceSeconds must be/],
  [
    'an endless tolerance',
    { toleranceSeconds: Number.POSITIVE_INFINITY },
    /^toleranceSeconds must be a finite number/,
  ],
  ['a tolerance that is no number', { toleranceSeconds: Number.NaN }, /^toleranceSeconds must be/],
  ['a tolerance in text', { toleranceSeconds: '300' }, /^toleranceSeconds must be/],
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
  ['a retention that is no number', { retentionSeconds: Number.NaN }, /^retentionSeconds must be/],
  ['a retention of null', { retentionSeconds: null as never }, /^retentionSeconds must be .*not null/],
  [
    'a retention under the tolerance',
    { toleranceSeconds: 10 * DAY, retentionSeconds: 10 * DAY - 1 },
    /^retentionSeconds must be .*at least 864000.*a record must outlive toleranceSeconds/,
  ],
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
  [
    'a body limit of 1.5',
    { maxBodyBytes: 1.5 },
    /^maxBodyBytes must be a whole number of at least 1, not 1\.5/,
  ],
  ['no body limit', { maxBodyBytes: Number.POSITIVE_INFINITY }, /^maxBodyBytes must be a whole number/],
  ['a body limit in text', { maxBodyBytes: '1mb' }, /^maxBodyBytes must be a whole number/],

  ['key that is no function', { key: 'order.id' }, /^key must be a function, not a string/],
  ['onDelivery that is no function', { onDelivery: {} }, /^onDelivery must be a function, not an object/],
  ['onError that is no function', { onError: null }, /^onError must be a function, not null/],
  [
    'now that is no function',
    { now: 1_760_000_000_000 },
    /^now must be a function that returns milliseconds, not 1760000000000/,
  ],

  ['an empty header name', { signature: { header: '' } }, /^signature\.header must be the name of a header/],
  ['a header name with a colon', { signature: { header: 'x-sig:' } }, /^signature\.header must be the name/],
  [
    'another algorithm',
    { signature: { algorithm: 'sha256' } },
    /^signature\.algorithm must be "SHA-256" or "SHA-512"/,
  ],
  [
    'another encoding',
    { signature: { encoding: 'base64url' } },
    /^signature\.encoding must be "hex" or "base64"/,
  ],
  [
    'another signed content',
    { signature: { signedContent: 'body' } },
    /^signature\.signedContent must be "dot" or "concat"/,
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
  ['an option in another case', { maxbodybytes: 1 }, /^There is no option maxbodybytes\./],
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

  test('and the message never shows a secret', () => {
    for (const secret of ['whsec_hidden ', ['whsec_hidden', ' whsec_hidden'], { value: 'whsec_hidden' }]) {
      expect(() => make({ secret })).toThrow(expect.not.stringContaining('whsec_hidden'))
    }
  })
})
