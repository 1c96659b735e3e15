import type { WebhookOptions } from 'tix-webhooks'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { lifecycleEvent, orderCreated, SECRET } from '../../support/deliveries.js'
import { honestInbox } from '../../support/honest-inbox.js'
import { deferred, never, watch } from '../../support/promises.js'
import { receiving, storeWith } from '../../support/receiving.js'
import type { OnceScript } from '../../support/scripted-inbox.js'
import { advance, sleep, useVirtualTime } from '../../support/virtual-time.js'

useVirtualTime()
afterEach(() => {
  vi.restoreAllMocks()
})

const TIMES = { timeoutSeconds: 10, maxRunSeconds: 20 }

/** A receiver with one slot; `hold` is the handler of the first run. */
function onePlace(options: Partial<WebhookOptions> = {}, hold: () => unknown = () => {}) {
  const on = { 'order.created': vi.fn().mockImplementationOnce(hold) }
  return receiving({ concurrency: 1, ...TIMES, on, ...options })
}

/** A store whose first call of this method meets this. */
function storeFailing(method: 'claim' | 'renew' | 'complete' | 'release', first: () => unknown) {
  const { store, namespace } = storeWith({})
  vi.spyOn(store, method).mockImplementationOnce(first as never)
  return { store, namespace }
}

/** An inbox whose first transaction meets this. */
function inboxFailing(first: OnceScript) {
  const { inbox } = honestInbox()
  vi.spyOn(inbox, 'once').mockImplementationOnce(first as never)
  return { inbox, namespace: 'test' } as unknown as Partial<WebhookOptions>
}

const none = () => ({})

/** Ways in which the first delivery to a receiver ends, and when its slot is free; its later ones end well. */
const RUN_ENDS: readonly [
  name: string,
  outcome: string,
  freeAfterSeconds: number,
  options: () => Partial<WebhookOptions>,
  handler?: () => unknown,
][] = [
  ['a handler that settles later', 'handled', 3, none, () => sleep(3)],
  ['a store that hangs at complete', 'handled', 2.2, () => storeFailing('complete', never)],
  ['a store that blocks the process for longer than its lease', 'unavailable', 0, blockingStore],
  [
    'an inbox that rolls back for a while a run that was given up',
    'timed_out',
    24,
    () =>
      inboxFailing(async (_, work) => {
        await work(undefined).catch(() => sleep(4))
        throw new Error('rolled back')
      }),
    never,
  ],
]

function blockingStore() {
  const claim = () => {
    vi.advanceTimersByTime(4_000)
    return { status: 'claimed', attempt: 1 }
  }
  return { leaseSeconds: 3, ...storeFailing('claim', claim) }
}

test.each(RUN_ENDS)(
  'the slot of %s, which is %s, is free after %d s',
  async (_, outcome, free, options, hold) => {
    const { send, records } = onePlace(options(), hold)
    const first = send(orderCreated())
    await advance(0)
    if (free > 0) {
      await advance(free - 0.002)
      const early = watch(send(orderCreated()))
      await advance(0)
      expect(early.isResolved, 'it is free too early').toBe(false)
      await advance(0.002)
      expect(early.isResolved, 'it is not free').toBe(true)
    }
    const next = watch(send(orderCreated()))
    await advance(0)
    expect(next.isResolved, 'it is not free').toBe(true)
    await advance(30)
    expect((await first).outcome).toBe(outcome)
    expect(records).toHaveLength(free > 0 ? 3 : 2)
  },
)

/** A receiver whose one slot is taken until `leave`. */
async function fullHouse(options: Partial<WebhookOptions> = {}) {
  const work = deferred()
  const house = onePlace(options, () => work.promise)
  const running = house.send(orderCreated({ id: 'running' }))
  await advance(0)
  return {
    ...house,
    async leave() {
      work.resolve()
      await advance(0)
      return running
    },
  }
}

describe('a delivery that finds no slot', () => {
  test('waits, and has the rest of its time for its run', async () => {
    const { send, leave, records } = await fullHouse()
    const waiting = watch(send(orderCreated()))
    await advance(4.999)
    await leave()
    expect(waiting.isResolved).toBe(true)
    expect(records.map(({ outcome, durationMs }) => [outcome, durationMs])).toEqual([
      ['handled', 4999],
      ['handled', 4999],
    ])
  })

  test('in time is overloaded: one record, no error, and nothing is claimed', async () => {
    const { send, leave, records, reports } = await fullHouse()
    const order = orderCreated({ id: 'waiting' })
    const refused = send(order)
    await advance(5)
    expect(await refused).toEqual({
      outcome: 'overloaded',
      code: 'too_many_runs',
      retryAfterSeconds: expect.any(Number),
    })
    expect(records).toEqual([
      {
        outcome: 'overloaded',
        status: 503,
        code: 'too_many_runs',
        kind: 'order.created',
        key: 'default/order.created/waiting',
        secretIndex: 0,
        signatureAgeSeconds: 0,
        durationMs: 5000,
      },
    ])
    await leave()
    expect(await send(order)).toEqual({ outcome: 'handled' })
    expect(reports).toEqual([])
  })

  test('asks the platform to keep it alive before it waits: a Worker would cancel it, and its slot would be lost', async () => {
    const { send, leave } = await fullHouse()
    const kept: Promise<unknown>[] = []
    const sent = send(orderCreated(), { waitUntil: (work) => kept.push(work) })
    await advance(0)
    expect(kept).toHaveLength(1)
    const whenOver = watch(Promise.all(kept))
    expect(whenOver.isResolved).toBe(false)
    await leave()
    expect([(await sent).outcome, whenOver.isResolved]).toEqual(['handled', true])
    expect(kept).toHaveLength(1)
  })
})

test('data that does not fit does not wait for a slot', async () => {
  const { send, leave, records } = await fullHouse()
  const sent = watch(send(lifecycleEvent('order.created', { order: 1 })))
  await advance(0)
  expect(sent.isResolved).toBe(true)
  expect(records).toMatchObject([{ code: 'data_mismatch' }])
  await leave()
})

test('endpoints that share a pool take turns, though they have no accounts', async () => {
  const runs: string[] = []
  const inbox = { ...honestInbox().inbox, connections: { max: 2 } }
  const [crowded, quiet] = ['crowded', 'quiet'].map((namespace) =>
    receiving({
      inbox,
      namespace,
      on: {
        'order.created': (event: { data: { order: { id: string } } }) => {
          runs.push(event.data.order.id)
          return sleep(0.1)
        },
      },
    } as never),
  )
  const sent = [1, 2, 3].map((i) => crowded?.send(orderCreated({ id: `crowded ${i}` })))
  await advance(0)
  sent.push(quiet?.send(orderCreated({ id: 'quiet' })))
  await advance(1)
  await Promise.all(sent)
  expect(runs).toEqual(['crowded 1', 'crowded 2', 'quiet', 'crowded 3'])
})

describe('the log of refused deliveries', () => {
  const PATH = '/hooks?token=hunter2'

  /** So many refused ones, at the same time. */
  async function refuse({ send }: { send: ReturnType<typeof receiving>['send'] }, count: number) {
    const refused = Promise.all(
      Array.from({ length: count }, () => send(orderCreated(), { path: () => PATH })),
    )
    await advance(5)
    return refused
  }

  test.each<[string, Partial<WebhookOptions>, number]>([
    ['without onDelivery', { onDelivery: undefined }, 1],
    [
      'with telemetry, which may have no provider',
      { onDelivery: Object.assign(() => {}, { isTelemetry: true }) },
      1,
    ],
    ['with an onDelivery of the user', { onDelivery: () => {} }, 0],
  ])('%s: of %o %i line', async (_, options, lines) => {
    const printed = vi.spyOn(console, 'error').mockImplementation(() => {})
    const house = await fullHouse(options)
    await refuse(house, 3)
    expect(printed).toHaveBeenCalledTimes(lines)
    await house.leave()
  })

  test('has one line a minute, then the number of the others, with the path and the namespace, and nothing secret', async () => {
    const printed = vi.spyOn(console, 'error').mockImplementation(() => {})
    const house = await fullHouse({ onDelivery: undefined, maxRunSeconds: 300, namespace: 'orders' })
    for (let i = 0; i < 13; i++) await refuse(house, 10)
    await house.leave()
    const line = expect.stringMatching(
      /^tix-webhooks: \[\/hooks orders order\.created \S+, \d+ days old\] Too many deliveries at once: .* \(runs: 1; .* \(too_many_runs\)$/,
    )
    expect(printed.mock.calls.flat()).toEqual([
      line,
      'tix-webhooks: [orders] … and 119 more refused. (too_many_runs)',
      line,
    ])
  })

  test('says which of the limits it was: an account at its own does not hide that all are reached', async () => {
    const printed = vi.spyOn(console, 'error').mockImplementation(() => {})
    const work = deferred()
    const { send } = receiving({
      ...TIMES,
      concurrency: 3,
      secret: undefined,
      account: (id: unknown) => ({ id: String(id), secret: SECRET }),
      onDelivery: undefined,
      on: { 'order.created': () => work.promise },
    } as never)
    const sendTo = (...ids: string[]) => ids.map((request) => send(orderCreated(), { request } as never))
    const running = sendTo('acme', 'acme', 'beta')
    await advance(0)
    const refused = sendTo('acme', 'acme', 'gamma')
    await advance(5)
    for (const { outcome } of await Promise.all(refused)) expect(outcome).toBe('overloaded')
    expect(printed.mock.calls.flat()).toEqual([
      expect.stringMatching(/\[acme order\.created .*of this account at once: .* \(perAccount: 2; half/),
      expect.stringMatching(/\[gamma order\.created .*Too many deliveries at once: .* \(runs: 3;/),
    ])
    work.resolve()
    await Promise.all(running)
  })
})
