import { createHook } from 'node:async_hooks'
import { Pool } from 'pg'
import postgres from 'postgres'
import { createReceiver, memoryStore, type WebhookOptions } from 'tix-webhooks'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { SECRET } from '../../../support/deliveries.js'
import { honestInbox } from '../../../support/honest-inbox.js'
import { storeWith } from '../../../support/receiving.js'
import { schemaOf } from '../../../support/schema-of.js'

const handler = async (): Promise<void> => {}

/** Makes a receiver with options that the types would refuse, as plain JavaScript can. */
function make(options: Record<string, unknown> = {}) {
  return createReceiver({
    secret: SECRET,
    on: { 'order.created': handler },
    ...options,
  } as unknown as WebhookOptions)
}

const DAY = 86_400

const namespace = 'orders'
const kept = { store: memoryStore(), namespace }
/** A store that keeps no failures. */
const alone = { store: storeWith({}).store, namespace }
const { inbox } = honestInbox()

/** A store with one invalid method. */
function brokenStore(change: Record<string, unknown>): unknown {
  return { ...memoryStore(), ...change }
}

class Hooks {
  'order.created'() {}
}

const INHERITING = /^on must be a plain object, not an instance of a class or an object that inherits: /
const NO_INBOX = /^inbox must be an Inbox, such as postgresInbox\(pool\), not a pool or a database/

const REFUSED: readonly [options: Record<string, unknown>, message: RegExp][] = [
  [{ account: () => undefined }, /^Pass a secret or an account function, not both/],
  [{ signature: { timestampUnit: 'us' } }, /^signature\.timestampUnit must be "s" or "ms"/],
  [{ secret: undefined, account: { id: 'a', secret: 's' } }, /^account must be a function of the request/],
  [{ namespace: () => 'orders' }, /^namespace must be 1 to 64 characters .* use the option account/],

  [{ on: {} }, /^on is empty and there is no onUnhandled: every event would be answered 200/],
  [{ on: new Hooks() }, INHERITING],
  [{ on: Object.create({ 'order.created': handler }) }, INHERITING],
  [
    { on: Object.defineProperty({ 'order.created': handler }, 'order.create', { value: handler }) },
    /^on\["order\.create"\] is not a kind/,
  ],
  [
    { schemas: Object.create({ 'order.refunded': {} }) },
    /^schemas must be a plain object of schemas by kind, not an instance of a class/,
  ],
  [
    { schemas: { 'order.refunded': { parse() {} } } },
    /^schemas\["order\.refunded"\] must be a Standard.*unch/,
  ],

  [{ store: memoryStore() }, /^namespace is required with store and inbox: .*namespace: 'orders'/],
  [{ inbox }, /^namespace is required/],
  [{ namespace: 'a/b' }, /^namespace must be 1 to 64 characters/],
  [{ namespace: 'x'.repeat(65) }, /^namespace must be 1 to 64 characters/],
  [{ store: { get() {}, set() {} }, namespace }, /^store must be an IdempotencyStore: its claim is.*ioredis/],
  // A function, and no store function.
  [{ store: postgres('postgres://nowhere'), namespace }, /^store must be an IdempotencyStore/],
  [{ store: brokenStore({ complete: 1 }), namespace }, /its complete is not a function/],
  [
    { store: brokenStore({ forget: undefined }), namespace },
    /^store has no forget: one that keeps failures has fail, keep, ledger, forget/,
  ],
  [
    { store: brokenStore({ fail: undefined, keep: undefined }), namespace },
    /^store has no fail and no keep:/,
  ],
  [{ inbox: { ...inbox, keep() {} }, namespace }, /^inbox has no ledger and no forget:/],
  [{ inbox, store: memoryStore(), namespace }, /^Pass a store or an inbox, not both: an inbox keeps its own/],
  [{ inbox: { query() {}, connect() {} }, namespace }, NO_INBOX],
  [{ inbox: new Pool(), namespace }, NO_INBOX],
  [{ inbox: memoryStore(), namespace }, /^inbox is a store: pass it as store/],
  [{ store: inbox, namespace }, /^store is an inbox: pass it as inbox/],

  [
    { leaseSeconds: 0.099 },
    /^leaseSeconds must be a number of seconds that is at least 0\.1 and at most 2147483/,
  ],
  [{ toleranceSeconds: 0 }, /^toleranceSeconds must be a finite number above 0.*259200/],
  [
    { retentionSeconds: 73 * 3600 - 1 },
    /^retentionSeconds must be .*at least 262800 .*not 262799: the sender/,
  ],
  [{ retentionSeconds: Number.POSITIVE_INFINITY }, /^retentionSeconds must be a number .*not Infinity/],
  [{ toleranceSeconds: 8 * DAY }, /^retentionSeconds must be .*at least 691200/],
  [{ leaseSeconds: 6 * DAY, retentionSeconds: 5 * DAY }, /retentionSeconds/],
  [{ maxRunSeconds: 6 * DAY, retentionSeconds: 5 * DAY }, /retentionSeconds/],
  [{ maxBodyBytes: 0 }, /^maxBodyBytes must be a whole number of at least 1, not 0/],

  [{ concurrency: 0 }, /^concurrency must be a whole number of at least 1, not 0\.$/],
  [
    { concurrency: '5' },
    /^concurrency must be a number, or an object of runs and perAccount; not a string\.$/,
  ],
  [{ concurrency: {} }, /^concurrency.runs must be a whole number of at least 1, not undefined\.$/],
  [{ concurrency: { runs: 5, perAccount: 2 } }, /^concurrency\.perAccount needs the option account\.$/],
  [
    { concurrency: { runs: 5, max: 5 } },
    /^There is no option concurrency.max\. The options are runs, perAccount/,
  ],

  [{ key: 'order.id' }, /^key must be a function, not a string/],
  [{ onDelivery: {} }, /^onDelivery must be a function, not an object/],
  [{ onError: null }, /^onError must be a function, not null/],
  [{ now: 1_760_000_000_000 }, /^now must be a function that returns milliseconds, not 1760000000000/],
  [{ tolerance: 300 }, /^There is no option tolerance\. The options are secret, account, on,/],

  [{ ...alone, parkAfter: { attempts: 3 } }, /^parkAfter needs a ledger: .*Redis keeps no failures/],
  [{ inbox, namespace, parkAfter: { hours: 1 } }, /^parkAfter needs a ledger/],
  [{ ...kept, keep: 'nothing', parkAfter: { attempts: 3 } }, /^parkAfter needs keep: 'failed'/],
  [{ ...kept, keep: 'all' }, /^keep must be 'failed' or 'nothing', not "all"/],
  [{ ...kept, parkAfter: {} }, /^parkAfter is empty/],
  [{ ...kept, parkAfter: { attempts: 0 } }, /^parkAfter.attempts must be a whole number/],
  [{ ...kept, parkAfter: { hours: 0 } }, /^parkAfter.hours must be a number above 0/],
  [{ ...kept, parkAfter: { hours: Number.POSITIVE_INFINITY } }, /^parkAfter.hours must be a number above 0/],
  [{ ...kept, parkAfter: { days: 1 } }, /no option parkAfter.days/],
  [{ ...kept, parkAfter: 8 }, /^parkAfter.* must be an object/],
  [{ ...kept, failures: {} }, /^There is no option failures\./],
]

describe('a receiver is not made', () => {
  for (const [options, message] of REFUSED) {
    test(`because ${message}`, () => {
      expect(() => make(options)).toThrow(TypeError)
      expect(() => make(options)).toThrow(message)
    })
  }

  // A timer of more than some 24.8 days fires at once.
  test.each(['timeoutSeconds', 'maxRunSeconds', 'leaseSeconds'])('with an invalid %s', (option) => {
    const message = `${option} must be a number of seconds`
    for (const value of [0, -1, Number.NaN, Number.POSITIVE_INFINITY, 2_147_484, '10', true]) {
      expect(() => make({ [option]: value })).toThrow(TypeError)
      expect(() => make({ [option]: value })).toThrow(message)
    }
  })

  test.each([undefined, null, SECRET])('of %s alone', (options) => {
    const create = (): unknown => createReceiver(options as unknown as WebhookOptions)
    expect(create).toThrow(TypeError)
    expect(create).toThrow(/^options must be an object of secret, account, on/)
  })
})

test.each<Record<string, unknown>>([
  { secret: () => undefined },
  { schemas: { 'order.refunded': schemaOf((value) => ({ value })) }, on: { 'order.refunded': handler } },
  { leaseSeconds: 0.1 },
  // The function may make a ledger.
  { store: () => alone.store, namespace, parkAfter: { attempts: 3, hours: undefined } },
  { concurrency: { runs: 5, perAccount: Number.POSITIVE_INFINITY } },
  { namespace: 'Aa0._-'.padEnd(64, 'x') },
  {
    timeoutSeconds: 2_147_483,
    maxRunSeconds: 2_147_483,
    leaseSeconds: 2_147_483,
    retentionSeconds: 2_147_483,
  },
  { timeoutSeconds: 0.5, leaseSeconds: 0.3, maxRunSeconds: 0.9, toleranceSeconds: 0.1 },
])('a receiver is made with %o', (options) => {
  expect(make(options)).toMatchObject({ headerName: 'x-service-signature' })
})

test('making a receiver does nothing random, timed or asynchronous: some runtimes refuse it outside of a request', () => {
  const spies = [
    vi.spyOn(crypto, 'randomUUID'),
    vi.spyOn(crypto, 'getRandomValues'),
    vi.spyOn(Math, 'random'),
    vi.spyOn(Date, 'now'),
    vi.spyOn(performance, 'now'),
  ]
  const asked = vi.fn()
  const started: string[] = []
  // Node's own record of timers, promises, random bytes and so on.
  const hook = createHook({ init: (_, type) => started.push(type) }).enable()

  make({ secret: asked, now: asked, key: asked })
  make({ secret: [SECRET, new Uint8Array([1, 2, 3])], onDelivery: asked, onError: asked })

  hook.disable()
  expect(started).toEqual([])
  for (const spy of [...spies, asked]) expect(spy).not.toHaveBeenCalled()
  vi.restoreAllMocks()
})

describe('the warning of what is in memory alone', () => {
  beforeEach(() => {
    vi.resetModules()
    vi.spyOn(console, 'warn').mockImplementation(() => {})
  })

  afterEach(() => {
    vi.unstubAllEnvs()
    vi.unstubAllGlobals()
    vi.restoreAllMocks()
  })

  /** Makes a receiver in a fresh process. */
  async function makeAfresh(): Promise<void> {
    const { createReceiver } = await import('tix-webhooks')
    createReceiver({ secret: SECRET, on: { 'order.created': handler } })
  }

  test('is given once in production, and says what to pass', async () => {
    vi.stubEnv('NODE_ENV', 'production')
    await makeAfresh()
    await makeAfresh()
    expect(console.warn).toHaveBeenCalledExactlyOnceWith(
      expect.stringMatching(/no store is given.*Pass a store or an inbox, and a namespace.*memoryStore\(\)/),
    )
  })

  test.each(['development', ''])('is not given when NODE_ENV is "%s"', async (value) => {
    vi.stubEnv('NODE_ENV', value)
    await makeAfresh()
    expect(console.warn).not.toHaveBeenCalled()
  })

  test('is given once for parked events, which were answered 200', async () => {
    const { createReceiver, memoryStore } = await import('tix-webhooks')
    for (const _ of [1, 2])
      createReceiver({
        secret: SECRET,
        on: {},
        onUnhandled: handler,
        store: memoryStore(),
        namespace,
        parkAfter: { attempts: 1 },
      })
    expect(console.warn).toHaveBeenCalledExactlyOnceWith(
      expect.stringMatching(/^tix-webhooks: parkAfter is set with a store in memory/),
    )
  })

  test('is not given where there is no process at all', async () => {
    const { createReceiver } = await import('tix-webhooks')
    vi.stubGlobal('process', undefined)
    createReceiver({ secret: SECRET, on: { 'order.created': handler } })
    vi.unstubAllGlobals()
    expect(console.warn).not.toHaveBeenCalled()
  })
})
