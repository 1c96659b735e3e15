import type { Outcome } from 'tix-webhooks'
import type { Bench, Group } from '../support/bench.js'
import { alternateWarm, cpuTimeOf } from '../support/cpu-time.js'
import type { Goal } from '../support/goal.js'
import type { Table } from '../support/report.js'
import type { Figures } from '../support/rounds.js'
import { COMPARISON_COLUMNS, PROCESSOR_TIME, timeBeside } from './comparison.js'
import { idempotentLimit } from './idempotent.js'
import { limit } from './limit.js'
import { SECRET, type SignedOrder, sign, signedOrders, tampered } from './orders.js'
import { deliver, quietReceiver, receiverWith } from './receivers.js'
import { stripeAndMap, stripeAndMapAsync } from './stripe-and-map.js'

/** The number of concurrent deliveries. */
const IN_FLIGHT = [1, 16] as const

/** The cost of a whole delivery, from the signature to the record of its end. */
export const receive: Group = {
  id: 'receive',
  measure: async (bench) => [await newDeliveries(bench), await otherDeliveries(bench)],
}

/** Takes one delivery. */
type Take = (order: SignedOrder) => unknown

interface Entrant {
  readonly take: Take
  readonly inFlight: number
  /** Makes the deliveries of one slice, outside the measured time. */
  orders(count: number): Promise<readonly SignedOrder[]>
}

/** Enough that young garbage is collected within a slice, as in a server. The default store has room for the orders of all rounds. */
function ordersIn(bench: Bench): number {
  return bench.size(2_400, 160)
}

async function measure(bench: Bench, entrants: readonly Entrant[]): Promise<Figures[]> {
  const count = ordersIn(bench)
  return alternateWarm(
    bench.size(31, 2),
    entrants.map(({ take, inFlight, orders }) => async () => {
      const waiting = await orders(count)
      let next = 0
      return cpuTimeOf(() => take(waiting[next++] as SignedOrder), count, inFlight)
    }),
  )
}

const fresh = (take: Take, inFlight = 1): Entrant => ({ take, inFlight, orders: signedOrders })

/** The handlers of the new deliveries. */
const HANDLERS = [
  { kind: 'sync', handler: () => {}, goal: { atMost: 1.65 } },
  { kind: 'async', handler: async () => {}, goal: { atMost: 1.85 } },
] as const

async function newDeliveries(bench: Bench): Promise<Table> {
  bench.progress('receive: new deliveries')
  const verify = limit(SECRET)
  const compared = HANDLERS.flatMap(({ kind, handler, goal }) => {
    const receiver = receiverWith(handler)
    const ours: Take = (order) => deliver(receiver, order, 'handled')
    const stripe = kind === 'sync' ? stripeAndMap(handler) : stripeAndMapAsync(handler)
    // A synchronous delivery is never in flight.
    const inFlight = kind === 'sync' ? [1] : IN_FLIGHT
    return inFlight.map((many) => ({
      name: `receive(), ${kind} handler, ${many} in flight`,
      goal,
      entrants: [fresh(ours, many), fresh(stripe, many), fresh(idempotentLimit(handler), many)],
    }))
  })
  const [least = [], ...figures] = await measure(bench, [
    fresh(({ body, header }) => verify(body, header)),
    ...compared.flatMap(({ entrants }) => entrants),
  ])
  const rows = compared.flatMap(({ name, goal }, i) => {
    const [our = [], stripe = [], idempotent = []] = figures.slice(3 * i, 3 * i + 3)
    const ours = { name, figures: our }
    return [
      timeBeside(ours, { name: 'the limit', figures: least }, goal),
      timeBeside(ours, { name: 'stripe.constructEvent and a Map', figures: stripe }, { atMost: 1 }),
      timeBeside(ours, { name: 'the limit and @node-idempotency/core', figures: idempotent }),
    ]
  })
  return {
    title: 'A whole new delivery through receive()',
    columns: COMPARISON_COLUMNS,
    rows,
    notes: [
      PROCESSOR_TIME,
      'Orders of 0.3 KB, each another one, signed before the time is taken; the default memory store; a handler that does nothing.',
      'The limit verifies and parses, and no more than that; it is synchronous, so there is nothing to have in flight.',
      'stripe.constructEvent and a Map of the ids that were handled is what people write. The Map has no bound, and neither has that of @node-idempotency/core; nothing checks the data, and two deliveries at once both run.',
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
  const rows: string[][] = []
  for (const inFlight of IN_FLIGHT) {
    bench.progress(`receive: duplicates and forgeries, ${inFlight} in flight`)
    const [valid = [], ...figures] = await measure(bench, [
      fresh((order) => deliver(receiver, order, 'handled'), inFlight),
      ...others.map(({ expected, orders }) => ({
        take: (order: SignedOrder) => deliver(receiver, order, expected),
        inFlight,
        orders,
      })),
    ])
    for (const [i, { name, goal }] of others.entries()) {
      const timed = { name: `${name}, ${inFlight} in flight`, figures: figures[i] ?? [] }
      rows.push(timeBeside(timed, { name: 'a new delivery', figures: valid }, goal))
    }
  }
  return {
    title: 'Duplicates and forgeries through receive()',
    columns: COMPARISON_COLUMNS,
    rows,
    notes: [
      'onDelivery and onError are given and do nothing: the default report of a forgery is a line on the console, and writing it would be all that is measured.',
    ],
  }
}

const FORGERIES: readonly Other[] = [
  forgery('signed with another secret', 'unauthenticated', async ({ body }) => sign(body, 'whsec_other')),
  forgery('one byte changed', 'unauthenticated', async ({ body, header }) => ({
    body: tampered(body),
    header,
  })),
  forgery('a malformed header', 'malformed', async ({ body, header }) => ({
    body,
    header: header.replace('v1=', 'v1:'),
  })),
  forgery('signed an hour ago', 'unauthenticated', async ({ body }) =>
    sign(body, SECRET, Math.floor(Date.now() / 1000) - 3600),
  ),
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
