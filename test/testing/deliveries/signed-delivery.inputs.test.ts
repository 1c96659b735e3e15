import { inspect } from 'node:util'
import { ConfigurationError } from 'tix-webhooks'
import { createTestClock, sampleEvent, signedBody, signedDelivery } from 'tix-webhooks/testing'
import { describe, expect, test } from 'vitest'
import { SECRET } from '../../support/deliveries.js'
import { errorOf } from '../../support/thrown-error.js'

/** Calls without types, as from plain JavaScript. */
type Untyped = (...args: unknown[]) => unknown
const deliver = signedDelivery as Untyped
const sample = sampleEvent as Untyped
const sign = signedBody as Untyped

/** The call must be refused with a TypeError that begins so, and shows nothing of the secret. */
async function expectRefusal(call: () => unknown, message: string): Promise<void> {
  const error = await errorOf(call)
  expect(error).toBeInstanceOf(TypeError)
  expect(error.message.slice(0, message.length)).toBe(message)
  expect(inspect(error, { depth: Number.POSITIVE_INFINITY, showHidden: true })).not.toContain(SECRET)
}

const TIMESTAMP = 'timestamp must be a whole number of seconds since the epoch, not'
const SEED = 'seed must be a whole number from 0 to 4294967295, not'
const AT =
  'at is not a date: it must be a Date, milliseconds since the epoch, or ISO 8601 with its time zone such as "2026-05-17T14:02:11Z", in the years 1970 to 9998; not'
const NOW = AT.replace('at', 'the value that now returned')
const NO_FUNCTION = 'now must be a function that returns milliseconds, not'

describe.each([
  ['signedDelivery', (options: object) => deliver('order.created', options)],
  ['signedBody', (options: object) => sign('{}', options)],
])('%s', (_name, call) => {
  test.each<[options: object, message: string]>([
    [{ secret: undefined }, 'secret is undefined: pass the signing secret of the endpoint'],
    [{ secret: '' }, 'secret is empty'],
    [{ secret: `${SECRET}\n` }, 'secret begins or ends with white space'],
    [{ secret: new TextEncoder().encode(`${SECRET}\n`) }, 'secret begins or ends with white space'],
    [{ secret: [] }, 'secret: the list of secrets is empty'],
    [{ secret: [SECRET, ''] }, 'secret[1] is empty'],
    [{ secret: Array(17).fill(SECRET) }, 'secret: a header holds at most 16 signatures, not 17.'],
    [{ secret: 7 }, 'secret must be a string or a Uint8Array, not a number.'],
    [{ secret: Promise.resolve(SECRET) }, 'secret must be a string or a Uint8Array, not a promise.'],
    [{ secret: SECRET, timestamp: -1 }, `${TIMESTAMP} -1.`],
    [{ secret: SECRET, timestamp: 2 ** 53 }, `${TIMESTAMP} 9007199254740992.`],
    [{ secret: SECRET, timestamp: '1779026531' }, `${TIMESTAMP} "1779026531".`],
    [
      { secret: SECRET, timestamp: 0.5, signature: { timestampUnit: 'ms' } },
      'timestamp must be a whole number of milliseconds since the epoch, not 0.5.',
    ],
    [
      { secret: SECRET, signature: { algoritm: 'SHA-512' } },
      'There is no option signature.algoritm. The options are header, algorithm, encoding, signedContent, timestampUnit.',
    ],
    [{ secret: SECRET, signature: 'SHA-512' }, 'signature must be an object of header, algorithm'],
    [{ secret: SECRET, now: 1_779_026_531_000 }, `${NO_FUNCTION} 1779026531000.`],
    [{ secret: SECRET, now: createTestClock() }, `${NO_FUNCTION} an object.`],
    [{ secret: SECRET, now: () => -1 }, `${NOW} -1.`],
    [{ secret: SECRET, now: () => 9e15 }, `${NOW} 9000000000000000.`],
    [
      { secret: SECRET, toleranceSeconds: 1 },
      'There is no option toleranceSeconds. The options are secret, ',
    ],
  ])('refuses %o', async (options, message) => {
    await expectRefusal(() => call(options), message)
  })

  test.each([
    ['a Date', () => new Date(0), 'an object'],
    ['a string', () => '0', '"0"'],
    ['nothing', () => {}, 'undefined'],
    ['NaN', () => Number.NaN, 'NaN'],
    ['a promise', async () => 0, 'a promise'],
  ])('refuses a now that returns %s', async (_what, now, told) => {
    const error = await errorOf(() => call({ secret: SECRET, now }))
    expect(error).toBeInstanceOf(ConfigurationError)
    expect(error.message).toMatch(`now returned ${told}: it must return milliseconds since the epoch`)
  })

  test.each([undefined, null, SECRET, [SECRET], new Map()])('refuses %o as its options', async (options) => {
    await expectRefusal(() => call(options as object), 'options must be an object of secret, timestamp')
  })
})

describe.each([
  ['signedDelivery', (kind: unknown, options?: object) => deliver(kind, { secret: SECRET, ...options })],
  ['sampleEvent', (kind: unknown, options?: object) => sample(kind, options)],
])('%s', (_name, call) => {
  test.each([
    [undefined, 'undefined'],
    ['', '""'],
    [{ type: 'order.created' }, 'an object'],
  ])('refuses %o as a kind', async (kind, told) => {
    await expectRefusal(
      () => call(kind),
      `kind must be a kind of event, such as "order.created", not ${told}.`,
    )
  })

  test.each<[options: object, message: string]>([
    [{ seed: -1 }, `${SEED} -1.`],
    [{ seed: 2 ** 32 }, `${SEED} 4294967296.`],
    [{ seed: '1' }, `${SEED} "1".`],
    [{ at: 'yesterday' }, `${AT} "yesterday".`],
    [{ at: '2026-02-30T00:00:00Z' }, `${AT} "2026-02-30T00:00:00Z".`],
    [{ at: '2026-05-17T14:02:11' }, `${AT} "2026-05-17T14:02:11".`],
    [{ at: '1969-12-31T23:59:59Z' }, `${AT} "1969-12-31T23:59:59Z".`],
    [{ at: '9999-01-01T00:00:00Z' }, `${AT} "9999-01-01T00:00:00Z".`],
    [{ at: new Date(-1) }, `${AT} a Date of 1969-12-31T23:59:59.999Z.`],
    [{ now: () => -1 }, `${NOW} -1.`],
    [{ exact: 'yes' }, 'exact must be true or false, not a string.'],
    [{ overrides: {} }, 'There is no option overrides. The options are '],
  ])('refuses %o', async (options, message) => {
    await expectRefusal(() => call('order.created', options), message)
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
    [Promise.resolve({}), 'data must be a plain object, not a promise.'],
    [{ toJSON: () => [] }, 'The result of toJSON of data must be a plain object, not an array.'],
    [{ cents: 1n }, 'data cannot be serialised as JSON: Do not know how to serialize a BigInt'],
    [holdsItself, 'data cannot be serialised as JSON: Converting circular structure to JSON'],
    [failing, 'data cannot be serialised as JSON: no order'],
  ])('refuses %o as the data of a kind without a sample, or with exact', async (data, message) => {
    await expectRefusal(() => call('order.refunded', { data }), message)
    await expectRefusal(() => call('order.created', { data, exact: true }), message)
  })
})

test.each([
  [{ type: 'order.created' }, 'an object'],
  [undefined, 'undefined'],
])('signedBody refuses %o as a body', async (body, told) => {
  await expectRefusal(
    () => sign(body, { secret: SECRET }),
    `body must be a string or a Uint8Array, not ${told}: JSON.stringify an event yourself`,
  )
})

test.each<[again: unknown, message: string]>([
  [{ timestamp: -1 }, `${TIMESTAMP} -1.`],
  [{ now: 1 }, `${NO_FUNCTION} 1.`],
  [{ secret: 'other' }, 'There is no option secret. The options are timestamp, now.'],
  [{ at: 0 }, 'There is no option at. The options are timestamp, now.'],
  [5, 'options must be an object of timestamp, now; not a number.'],
])('signAgain refuses %o', async (again, message) => {
  const { signAgain } = await signedDelivery('order.created', { secret: SECRET })
  await expectRefusal(() => (signAgain as Untyped)(again), message)
})

test.each(['toRequest', 'toInject'] as const)('%s asks for the path that was left out', async (method) => {
  const delivery = await signedDelivery('order.created', { secret: SECRET })
  await expectRefusal(
    () => (delivery[method] as Untyped)(),
    `url is missing: pass the path of your endpoint, such as ${method}('/hooks').`,
  )
})
