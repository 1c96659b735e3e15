/** @module-tag slow */
import { AsyncLocalStorage } from 'node:async_hooks'
import fc from 'fast-check'
import { createReceiver, type DeliveryRecord, type Inbox, isWebhookError, memoryStore } from 'tix-webhooks'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { callFates, handlerFates, play, storeBehind, transactionFates } from '../../support/chaos.js'
import { lifecycleEvent, orderCreated, SECRET, sign } from '../../support/deliveries.js'
import { honestInbox } from '../../support/honest-inbox.js'
import { deferred, never, watch } from '../../support/promises.js'
import { runs as scaled } from '../../support/runs.js'
import { advance, sleep } from '../../support/virtual-time.js'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

const TIMES = { timeoutSeconds: 10, maxRunSeconds: 20 }
/** When a slot is free, though the end of its run never came: both times, and that of recording an end. */
const OVERDUE_SECONDS = 10 + 20 + 46
/** When the last delivery of a plan arrives. */
const LAST_SECONDS = 20
/** By then each run is over that can be: the last delivery's time, the longest run, all attempts to record its end. */
const SETTLED_SECONDS = 62

const plans = fc.record({
  /** An inbox on a pool, which two receivers share; otherwise one receiver on a store. */
  isInbox: fc.boolean(),
  runs: fc.constantFrom(1, 2, 3),
  perAccount: fc.constantFrom(1, 2, Number.POSITIVE_INFINITY),
  deliveries: fc.array(
    fc.record({
      at: fc.constantFrom(0, 0, 0, 0, 1, 2, 5, 6, 12, LAST_SECONDS),
      receiver: fc.constantFrom(0, 1),
      account: fc.constantFrom('a', 'a', 'b'),
      event: fc.constantFrom('1', '2', '3', 'no key'),
      trick: fc.constantFrom(
        'none',
        'none',
        'none',
        'none',
        'none',
        'forged',
        'unhandled',
        'invalid',
        'cut off',
      ),
      /** Whether its receiver, the first of two, starts to drain just after this delivery arrived. */
      drains: fc.constantFrom(false, false, false, true),
    }),
    { minLength: 1, maxLength: 16, size: 'max' },
  ),
  calls: fc.array(callFates, { maxLength: 40, size: 'max' }),
  transactions: fc.array(transactionFates, { maxLength: 14, size: 'max' }),
  handlers: fc.array(handlerFates, { maxLength: 14, size: 'max' }),
  before: fc.array(fc.constantFrom('false', 'false', 'false', 'true', 'rejects', 'late', 'hangs'), {
    maxLength: 14,
  }),
})

type Plan = typeof plans extends fc.Arbitrary<infer T> ? T : never

test('a slot is given back at each end of a run, and at no other time, whatever happens to store, inbox, handlers and clients', async () => {
  await fc.assert(fc.asyncProperty(plans, live), { numRuns: scaled(80) })
})

function isGivenUp({ reason }: AbortSignal): boolean {
  return isWebhookError(reason) && reason.code === 'given_up'
}

async function live(plan: Plan): Promise<void> {
  const { runs, perAccount } = plan.isInbox ? { ...plan, perAccount: Math.ceil(plan.runs / 2) } : plan
  const startedAt = performance.now()
  const records: DeliveryRecord[] = []
  const fates = { calls: [...plan.calls], transactions: [...plan.transactions] }
  /** The accounts of the handlers that run, and are not given up. */
  const running: string[] = []
  const probes: Promise<string>[] = []
  let gate = deferred()
  let handled = 0
  let asked = 0
  let connections = 0
  /** The deliveries that keep their slots: by a handler, a handledBefore or a transaction that has not settled. */
  const holding = new Map<object, number>()
  const delivery = new AsyncLocalStorage<object>()

  function hold(holder: object): () => void {
    let isOver = false
    holding.set(holder, (holding.get(holder) ?? 0) + 1)
    return () => {
      if (isOver) return
      isOver = true
      const left = (holding.get(holder) ?? 0) - 1
      if (left > 0) holding.set(holder, left)
      else holding.delete(holder)
    }
  }

  /** A run of an inbox keeps its slot for its transaction, and one that is given up no longer. */
  async function held<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const leave = hold(delivery.getStore() ?? {})
    signal?.addEventListener('abort', () => {
      if (plan.isInbox && isGivenUp(signal)) leave()
    })
    try {
      return await work()
    } finally {
      leave()
    }
  }

  async function run(account: string, signal: AbortSignal): Promise<void> {
    running.push(account)
    expect(running.length).toBeLessThanOrEqual(runs)
    expect(running.filter((one) => one === account).length).toBeLessThanOrEqual(perAccount)
    let isOver = false
    const leave = (): void => {
      if (!isOver) running.splice(running.indexOf(account), 1)
      isOver = true
    }
    signal.addEventListener('abort', () => {
      if (isGivenUp(signal)) leave()
    })
    try {
      await (account.startsWith('probe')
        ? gate.promise
        : play(plan.handlers[handled++] ?? { kind: 'returns', takes: 0 }))
    } finally {
      leave()
    }
  }

  async function handledBefore(): Promise<boolean> {
    const answer = plan.before[asked++]
    if (answer === 'late') await sleep(11)
    if (answer === 'rejects') throw new Error('down')
    return answer === 'hangs' ? never() : answer === 'true'
  }

  const honest = honestInbox({ fates: fates.transactions }).inbox
  const inbox: Inbox<unknown> = {
    connections: { max: runs + 1 },
    async once(request, work) {
      connections += 1
      expect(connections, 'the pool has a connection for the app').toBeLessThanOrEqual(runs)
      try {
        return await delivery.run({}, () => held(() => honest.once(request, work)))
      } finally {
        connections -= 1
      }
    },
  }
  const options = {
    account: (id: unknown) => ({ id: String(id), secret: SECRET }),
    key: (event: { type: string; data: unknown }) => {
      const { id } = (event.data as { order: { id: string } }).order
      return id === 'no key' ? null : id
    },
    namespace: 'test',
    ...TIMES,
    handledBefore: () => (plan.isInbox ? handledBefore() : held(handledBefore)),
    on: {
      'order.created': (_: unknown, ctx: { account: { id: string }; signal: AbortSignal }) =>
        held(() => run(ctx.account.id, ctx.signal), ctx.signal),
    },
    onDelivery: (record: DeliveryRecord) => records.push(record),
    onError: () => {},
  }
  const first = createReceiver(
    plan.isInbox
      ? { ...options, inbox }
      : { ...options, store: storeBehind(fates.calls, memoryStore()), concurrency: { runs, perAccount } },
  )
  const second = plan.isInbox ? createReceiver({ ...options, inbox }) : first
  const drains: Promise<void>[] = []

  async function deliver(planned: Plan['deliveries'][number]): Promise<string> {
    await sleep(planned.at)
    const { account, event, trick } = planned
    const payload =
      trick === 'unhandled'
        ? lifecycleEvent('event.published')
        : trick === 'invalid'
          ? lifecycleEvent('order.created', { order: 1 })
          : orderCreated({ id: event })
    const { header, body } = await sign(payload, trick === 'forged' ? { secret: 'whsec_x' } : {})
    const arrivedAt = performance.now()
    const receiver = planned.receiver === 0 ? first : second
    const whole = trick === 'cut off' ? () => never() : body
    const receiving = receiver.receive({ header, body: whole, request: account })
    if (planned.drains && plan.isInbox) drains.push(first.drain())
    const { outcome } = await receiving
    expect(performance.now() - arrivedAt).toBeLessThanOrEqual(TIMES.timeoutSeconds * 1000)
    return outcome
  }

  /** The number of slots that are free: of the deliveries that run at once. */
  async function freePlaces(): Promise<number> {
    gate = deferred()
    expect(running).toEqual([])
    for (let i = 0; i <= runs; i++) {
      const delivery = await sign(orderCreated({ id: 'no key' }))
      probes.push(second.receive({ ...delivery, request: `probe${i}` }).then(({ outcome }) => outcome))
    }
    await advance(0)
    const { length } = running
    gate.resolve()
    await advance(5)
    return length
  }

  const deliveries = plan.deliveries.map(deliver)
  await advance(SETTLED_SECONDS)
  fates.calls.length = 0
  fates.transactions.length = 0
  // Everything else is free, and not because it was overdue.
  expect(performance.now() - startedAt).toBeLessThan(OVERDUE_SECONDS * 1000)
  // Before the probes, during which more of them are given back.
  const free = runs - holding.size
  expect(await freePlaces()).toBe(free)
  await advance(LAST_SECONDS + OVERDUE_SECONDS - SETTLED_SECONDS)
  connections = 0
  holding.clear()
  expect(await freePlaces()).toBe(runs)

  const outcomes = [...(await Promise.all(deliveries)), ...(await Promise.all(probes))]
  expect(records.map(({ outcome }) => outcome).sort()).toEqual(outcomes.sort())
  const drained = watch(Promise.all([...drains, first.drain(), second.drain()]))
  await advance(0)
  expect(drained.isResolved).toBe(true)
}
