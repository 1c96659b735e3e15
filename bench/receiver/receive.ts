import type { Outcome } from 'tix-webhooks'
import type { Bench, Group } from '../support/bench.js'
import { type Comparison, timeBeside } from '../support/comparison.js'
import { alternateWarm, cpuTimeOf, PROCESSOR_TIME } from '../support/cpu-time.js'
import type { Goal } from '../support/goal.js'
import type { Table } from '../support/report.js'
import type { Figures } from '../support/rounds.js'
import { idempotentLimit } from './idempotent.js'
import { limit } from './limit.js'
import { SECRET, type SignedOrder, sign, signedOrders } from './orders.js'
import { deliver, quietReceiver, receiverWith } from './receivers.js'
import { stripeAndMap, stripeAndMapAsync } from './stripe-and-map.js'

/** The cost of a whole delivery, from the signature to the record of its end. */
export const receive: Group = {
  id: 'receive',
  measure: async (bench) => [await newDeliveries(bench), await otherDeliveries(bench)],
}

/** Takes one delivery. */
type Take = (order: SignedOrder) => unknown

interface Entrant {
  readonly take: Take
  /** Makes the deliveries of one slice, outside the measured time. */
  orders(count: number): Promise<readonly SignedOrder[]>
}

/** Enough that young garbage is collected within a slice, as in a server. The default store has room for the orders of all rounds. */
function ordersIn(bench: Bench): number {
  return bench.size(1_200, 160)
}

async function measure(bench: Bench, entrants: readonly Entrant[]): Promise<Figures[]> {
  const count = ordersIn(bench)
  return alternateWarm(
    bench.size(96, 2),
    entrants.map(({ take, orders }) => async () => {
      const waiting = await orders(count)
      let next = 0
      return cpuTimeOf(() => take(waiting[next++] as SignedOrder), count)
    }),
  )
}

const fresh = (take: Take): Entrant => ({ take, orders: signedOrders })

/** The handlers of the new deliveries. */
const HANDLERS = [
  { kind: 'sync', handler: () => {}, goal: { atMost: 1.65 } },
  { kind: 'async', handler: async () => {}, goal: { atMost: 1.85 } },
] as const

async function newDeliveries(bench: Bench): Promise<Table> {
  bench.progress('receive: new deliveries')
  const verify = limit(SECRET)
  const compared = HANDLERS.map(({ kind, handler, goal }) => {
    const receiver = receiverWith(handler)
    const ours: Take = (order) => deliver(receiver, order, 'handled')
    const stripe = kind === 'sync' ? stripeAndMap(handler) : stripeAndMapAsync(handler)
    return {
      name: `receive(), ${kind} handler, 1 in flight`,
      goal,
      entrants: [fresh(ours), fresh(stripe), fresh(idempotentLimit(handler))],
    }
  })
  const [least = [], ...figures] = await measure(bench, [
    fresh(({ body, header }) => verify(body, header)),
    ...compared.flatMap(({ entrants }) => entrants),
  ])
  const comparisons = compared.flatMap(({ name, goal }, i) => {
    const [our = [], stripe = [], idempotent = []] = figures.slice(3 * i, 3 * i + 3)
    const ours = { name, figures: our }
    return [
      timeBeside(ours, { name: 'the limit', figures: least }, goal),
      timeBeside(ours, { name: 'stripe.constructEvent and a Map', figures: stripe }, { atMost: 1 }),
      timeBeside(ours, { name: 'the limit and @node-idempotency/core', figures: idempotent }),
    ]
  })
  return {
    title: 'A whole new delivery',
    ratio: 'Its time, to that of others',
    unit: PROCESSOR_TIME,
    comparisons,
    notes: [
      'Orders of 0.3 KB, all different, signed before; the default memory store; a handler that does nothing.',
      'The limit only verifies and parses, and is synchronous.',
      'stripe.constructEvent and a Map of the ids is what people write. The Map has no bound, and neither has that of @node-idempotency/core; nothing checks the data, and two deliveries of one event at once both run.',
    ],
  }
}

/** A delivery that is not new, or not genuine. */
interface Other {
  readonly name: string
  readonly goal: Goal
  readonly expected: Outcome['outcome']
  orders(count: number): Promise<readonly SignedOrder[]>
}

async function otherDeliveries(bench: Bench): Promise<Table> {
  const receiver = quietReceiver()
  const handled = await signedOrders(ordersIn(bench))
  for (const order of handled) await deliver(receiver, order, 'handled')
  const others: readonly Other[] = [
    {
      name: 'a duplicate',
      goal: { atMost: 0.75 },
      expected: 'duplicate',
      orders: (count) => Promise.all(handled.slice(0, count).map(({ body }) => sign(body))),
    },
    ...FORGERIES,
  ]
  bench.progress('receive: duplicates and forgeries')
  const [valid = [], ...figures] = await measure(bench, [
    fresh((order) => deliver(receiver, order, 'handled')),
    ...others.map(({ expected, orders }) => ({
      take: (order: SignedOrder) => deliver(receiver, order, expected),
      orders,
    })),
  ])
  const comparisons: Comparison[] = others.map(({ name, goal }, i) =>
    timeBeside({ name, figures: figures[i] ?? [] }, { name: 'a new delivery', figures: valid }, goal),
  )
  return {
    title: 'Duplicates and forgeries',
    ratio: 'Their time, to that of a new delivery',
    unit: PROCESSOR_TIME,
    comparisons,
    notes: [
      'onDelivery and onError are given and do nothing: the default report of a forgery is a line on the console, and only that would be measured.',
    ],
  }
}

const FORGERIES: readonly Other[] = [
  forgery('signed with another secret', 'unauthenticated', async ({ body }) => sign(body, 'whsec_other')),
  forgery('a malformed header', 'malformed', async ({ body, header }) => ({
    body,
    header: header.replace('v1=', 'v1:'),
  })),
]

function forgery(
  name: string,
  expected: Outcome['outcome'],
  forge: (order: SignedOrder) => Promise<SignedOrder>,
): Other {
  return {
    name,
    goal: { atMost: 0.5 },
    expected,
    orders: async (count) => Promise.all((await signedOrders(count)).map(forge)),
  }
}
