import { inspect } from 'node:util'
import { createTestClock, sampleEvent, signedBody, signedDelivery } from 'tix-webhooks/testing'
import { expect, test } from 'vitest'
import { SECRET } from '../../support/deliveries.js'
import { errorOf } from '../../support/thrown-error.js'

/** Calls without types, as from plain JavaScript. */
type Untyped = (...args: unknown[]) => unknown
const deliver = signedDelivery as Untyped
const sample = sampleEvent as Untyped
const sign = signedBody as Untyped

/** The calls must be refused with a TypeError that begins so, and shows nothing of the secret. */
async function expectRefusal(message: string, ...calls: (() => unknown)[]): Promise<void> {
  for (const call of calls) {
    const error = await errorOf(call)
    expect(error).toBeInstanceOf(TypeError)
    expect(error.message.slice(0, message.length)).toBe(message)
    expect(inspect(error, { depth: Number.POSITIVE_INFINITY, showHidden: true })).not.toContain(SECRET)
  }
}

const TIMESTAMP = 'timestamp must be a whole number of seconds since the epoch, not'
const SEED = 'seed must be a whole number from 0 to 4294967295, not'
const AT =
  'at is not a date: it must be a Date, milliseconds since the epoch, or ISO 8601 with its time zone such as "2026-05-17T14:02:11Z", in the years 1970 to 9998; not'
const NOW = AT.replace('at', 'the value that now returned')
const NO_FUNCTION = 'now must be a function that returns milliseconds, not'

test.each<[options: unknown, message: string]>([
  [{ secret: undefined }, 'secret is undefined: pass the signing secret of the endpoint'],
  [{ secret: `${SECRET}\n` }, 'secret begins or ends with white space'],
  [{ secret: [] }, 'secret: the list of secrets is empty'],
  [{ secret: [SECRET, ''] }, 'secret[1] is empty'],
  [{ secret: Array(17).fill(SECRET) }, 'secret: a header holds at most 16 signatures, not 17.'],
  [{ secret: Promise.resolve(SECRET) }, 'secret must be a string or a Uint8Array, not a promise.'],
  [{ secret: SECRET, timestamp: -1 }, `${TIMESTAMP} -1.`],
  [{ secret: SECRET, timestamp: '1779026531' }, `${TIMESTAMP} "1779026531".`],
  [
    { secret: SECRET, timestamp: 0.5, signature: { timestampUnit: 'ms' } },
    'timestamp must be a whole number of milliseconds since the epoch, not 0.5.',
  ],
  [{ secret: SECRET, signature: { algoritm: 'SHA-512' } }, 'There is no option signature.algoritm.'],
  [{ secret: SECRET, now: createTestClock() }, `${NO_FUNCTION} an object.`],
  [{ secret: SECRET, now: () => -1 }, `${NOW} -1.`],
  [{ secret: SECRET, toleranceSeconds: 1 }, 'There is no option toleranceSeconds. The options are secret, '],
  ...[undefined, null, SECRET, [SECRET], new Map()].map((options): [unknown, string] => [
    options,
    'options must be an object of secret, timestamp',
  ]),
])('signedDelivery and signedBody refuse the options %o', async (options, message) => {
  await expectRefusal(
    message,
    () => deliver('order.created', options),
    () => sign('{}', options),
  )
})

/** Both calls that make a sample. */
const sampling = (kind: unknown, options?: object) => [
  () => deliver(kind, { secret: SECRET, ...options }),
  () => sample(kind, options),
]

test.each([
  [undefined, 'undefined'],
  ['', '""'],
  [{ type: 'order.created' }, 'an object'],
])('signedDelivery and sampleEvent refuse %o as a kind', async (kind, told) => {
  await expectRefusal(
    `kind must be a kind of event, such as "order.created", not ${told}.`,
    ...sampling(kind),
  )
})

test.each<[options: object, message: string]>([
  [{ seed: -1 }, `${SEED} -1.`],
  [{ seed: '1' }, `${SEED} "1".`],
  ...[
    'yesterday',
    '2026-02-30T00:00:00Z',
    '2026-05-17T14:02:11',
    '1969-12-31T23:59:59Z',
    '9999-01-01T00:00:00Z',
  ].map((at): [object, string] => [{ at }, `${AT} "${at}".`]),
  [{ at: new Date(-1) }, `${AT} a Date of 1969-12-31T23:59:59.999Z.`],
  [{ now: () => -1 }, `${NOW} -1.`],
  [{ exact: 'yes' }, 'exact must be true or false, not a string.'],
  [{ overrides: {} }, 'There is no option overrides. The options are '],
])('signedDelivery and sampleEvent refuse the options %o', async (options, message) => {
  await expectRefusal(message, ...sampling('order.created', options))
})

const holdsItself: Record<string, unknown> = {}
holdsItself.order = { of: holdsItself }

const failing = {
  toJSON() {
    throw new Error('no order')
  },
}

test.each<[data: unknown, message: string]>([
  [null, 'data must be a plain object, not null.'],
  [[], 'data must be a plain object, not an array.'],
  [new Map([['order', 1]]), 'data must be a plain object, not one of type Map.'],
  [{ toJSON: () => [] }, 'The result of toJSON of data must be a plain object, not an array.'],
  [{ cents: 1n }, 'data cannot be serialised as JSON: Do not know how to serialize a BigInt'],
  [failing, 'data cannot be serialised as JSON: no order'],
])('%o is refused as the data of a kind without a sample, or with exact', async (data, message) => {
  await expectRefusal(message, ...sampling('order.refunded', { data }))
  await expectRefusal(message, ...sampling('order.created', { data, exact: true }))
})

const { signAgain, toRequest, toInject } = await signedDelivery('order.created', { secret: SECRET })
const again = signAgain as Untyped

test.each<[call: () => unknown, message: string]>([
  [
    () => sign({ type: 'order.created' }, { secret: SECRET }),
    'body must be a string or a Uint8Array, not an',
  ],
  [() => sign(undefined, { secret: SECRET }), 'body must be a string or a Uint8Array, not undefined: JSON.'],
  [() => again({ timestamp: -1 }), `${TIMESTAMP} -1.`],
  [() => again({ now: 1 }), `${NO_FUNCTION} 1.`],
  [() => again({ secret: 'other' }), 'There is no option secret. The options are timestamp, now.'],
  [toRequest as Untyped, "url is missing: pass the path of your endpoint, such as toRequest('/hooks')."],
  [toInject as Untyped, "url is missing: pass the path of your endpoint, such as toInject('/hooks')."],
])('%o is refused', async (call, message) => {
  await expectRefusal(message, () => call())
})
