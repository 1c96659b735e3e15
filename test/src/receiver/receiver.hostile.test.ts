import {
  answerTo,
  type BodyReader,
  type Delivery,
  type IdempotencyStore,
  memoryStore,
  RetryLater,
  type WebhookOptions,
} from 'tix-webhooks'
import { expect, onTestFinished, test, vi } from 'vitest'
import { orderCreated } from '../../support/deliveries.js'
import { receiving, storeWith } from '../../support/receiving.js'
import { failingWith, scriptedInbox } from '../../support/scripted-inbox.js'
import { sleep } from '../../support/virtual-time.js'

/** Values that throw when they are inspected. */
const HOSTILE: readonly [string, () => unknown][] = [
  [
    'an error whose fields throw',
    () => throwing(new Error('hidden'), 'code', 'message', 'name', 'cause', 'then'),
  ],
  ['a proxy that traps everything', () => new Proxy(new Error('hidden'), trapping)],
  [
    'a proxy that passes for one of our errors, and traps the rest',
    () => new Proxy({}, { ...trapping, has: () => true }),
  ],
  [
    'a proxy that was revoked',
    () => {
      const { proxy, revoke } = Proxy.revocable({}, {})
      revoke()
      return proxy
    },
  ],
  ['an error with a code that is none', () => Object.assign(new Error('hidden'), { code: Symbol('code') })],
  [
    'a RetryLater whose seconds throw',
    () => Object.defineProperty(new RetryLater({ afterSeconds: 5 }), 'afterSeconds', { get: again }),
  ],
  ['undefined', () => undefined],
]

function again(): never {
  throw new Error('looked at')
}

const trapping: ProxyHandler<object> = {
  get: again,
  has: again,
  getPrototypeOf: again,
  ownKeys: again,
  apply: again,
}

function throwing(error: Error, ...fields: string[]): Error {
  for (const field of fields) Object.defineProperty(error, field, { get: again })
  return error
}

type Case = Partial<WebhookOptions> & { delivery?: Partial<Delivery> }

const throws = (make: () => unknown) => (): never => {
  throw make()
}
const rejects = (make: () => unknown) => async (): Promise<never> => {
  throw make()
}
const unheard = (): never => Promise.reject(new Error('unheard')) as never
const reader = (): BodyReader => async () => new Uint8Array()
const unsigned = (body: BodyReader): Partial<Delivery> => ({ header: 't=1,v1=00', body })

/** A promise that throws when it is awaited. */
function unawaitable<T>(value: T, hostile: () => unknown): Promise<T> {
  return Object.defineProperty(Promise.resolve(value), 'constructor', { get: throws(hostile) })
}

function store(methods: Partial<IdempotencyStore>): Case {
  const { store, namespace } = storeWith(methods)
  return { store, namespace }
}

const PLACES: readonly [place: string, outcome: string, make: (hostile: () => unknown) => Case][] = [
  ['now', 'misconfigured', (hostile) => ({ now: throws(hostile) })],
  ['the secret function', 'unavailable', (hostile) => ({ secret: throws(hostile) })],
  ['the account function', 'unavailable', (hostile) => ({ secret: undefined, account: throws(hostile) })],
  ['the key function', 'misconfigured', (hostile) => ({ key: throws(hostile) })],
  [
    'signedContent',
    'misconfigured',
    (hostile) => ({ signature: { signedContent: throws(hostile) }, delivery: { header: 't=1,v1=00' } }),
  ],
  [
    'a schema',
    'misconfigured',
    (hostile) => ({
      schemas: {
        'order.created': { '~standard': { version: 1, vendor: 'own', validate: rejects(hostile) } },
      },
    }),
  ],
  ['the body reader', 'incomplete', (hostile) => ({ delivery: { body: rejects(hostile) } })],
  [
    'isCutOff of the body reader',
    'unauthenticated',
    (hostile) => ({ delivery: unsigned(Object.assign(reader(), { isCutOff: throws(hostile) })) }),
  ],
  ['the handler', 'failed', (hostile) => ({ on: { 'order.created': rejects(hostile) } })],
  ['claim', 'unavailable', (hostile) => store({ claim: rejects(hostile) })],
  [
    'the promise of claim',
    'unavailable',
    (hostile) => store({ claim: () => unawaitable({ status: 'completed' }, hostile) }),
  ],
  ['the promise of complete', 'handled', (hostile) => store({ complete: () => unawaitable(true, hostile) })],
  [
    'release, after a handler that failed,',
    'failed',
    (hostile) => ({ ...store({ release: rejects(hostile) }), on: { 'order.created': rejects(hostile) } }),
  ],
  [
    'the inbox',
    'unavailable',
    (hostile) => ({ inbox: scriptedInbox(failingWith(hostile())).inbox as never, namespace: 'test' }),
  ],
  ['isAnswered', 'handled', (hostile) => ({ delivery: { isAnswered: throws(hostile) } })],
  [
    'waitUntil, before the answer and after it,',
    'timed_out',
    (hostile) => ({
      ...store({ claim: async () => ({ status: 'claimed', attempt: 1 }) }),
      on: { 'order.created': () => sleep(3) },
      timeoutSeconds: 1,
      delivery: { waitUntil: throws(hostile) },
    }),
  ],
  ['an async now', 'misconfigured', () => ({ now: unheard })],
  ['an async key', 'misconfigured', () => ({ key: unheard })],
  [
    'an async clock of a store',
    'misconfigured',
    () => ({ store: memoryStore({ now: unheard }), namespace: 'n' }),
  ],
  ['each secret of a list that is async', 'misconfigured', () => ({ secret: () => [unheard(), unheard()] })],
  [
    'onError and onDelivery',
    'failed',
    (hostile) => ({ onError: rejects(hostile), on: { 'order.created': rejects(hostile) } }),
  ],
]

test.each(PLACES)(
  '%s that throws what cannot be looked at, or rejects: the delivery ends as %s, with one record, and a drain ends',
  async (_, outcome, make) => {
    const unhandled = vi.fn()
    process.on('unhandledRejection', unhandled)
    vi.useFakeTimers()
    onTestFinished(() => {
      vi.useRealTimers()
      process.off('unhandledRejection', unhandled)
    })
    for (const [what, hostile] of HOSTILE) {
      const { delivery, ...options } = make(hostile)
      const { send, receiver, records } = receiving({ on: { 'order.created': () => {} }, ...options })
      const sent = send(orderCreated(), delivery)
      await vi.advanceTimersByTimeAsync(5_000)
      expect((await sent).outcome, what).toBe(outcome)
      expect(records.map((record) => record.outcome)).toEqual([outcome])
      const drained = receiver.drain()
      await vi.advanceTimersByTimeAsync(60_000)
      await drained
    }
    expect(unhandled).not.toHaveBeenCalled()
  },
)

test.each<[string, (delivery: Delivery) => Delivery]>([
  ['nothing', () => undefined as never],
  ['a delivery whose fields throw', () => new Proxy({} as Delivery, { get: again })],
])('an adapter that hands in %s gets an outcome, and a drain ends', async (_, make) => {
  const { receiver, records } = receiving()
  const outcome = await receiver.receive(make({ header: 't=1,v1=00', body: new Uint8Array(), request: null }))
  const error = expect.any(Error)
  expect(outcome).toStrictEqual({ outcome: 'misconfigured', code: 'misconfigured', error })
  expect(records).toHaveLength(1)
  await receiver.drain()
})

test.each<[unknown, string]>([
  [Number.NaN, '5'],
  [Number.POSITIVE_INFINITY, '86400'],
  [-1, '1'],
  [1.5, '2'],
])(
  'a RetryLater whose afterSeconds was overwritten by %s says retry-after: %s',
  async (afterSeconds, header) => {
    const { send } = receiving({
      on: {
        'order.created': () => {
          throw Object.assign(new RetryLater({ afterSeconds: 60 }), { afterSeconds })
        },
      },
    })
    const outcome = await send(orderCreated())
    expect(outcome.outcome).toBe('retry_later')
    expect(answerTo(outcome).headers['retry-after']).toBe(header)
  },
)
