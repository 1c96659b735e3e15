import { createReceiver, type IdempotencyStore, memoryStore } from 'tix-webhooks'
import type { Bench, Group } from '../support/bench.js'
import { type Comparison, type Measured, timeBeside } from '../support/comparison.js'
import { alternateWarm, cpuTimeFor, PROCESSOR_TIME } from '../support/cpu-time.js'
import { short } from '../support/figures.js'
import type { Plot, Point } from '../support/plot.js'
import type { Table } from '../support/report.js'
import type { Figures } from '../support/rounds.js'
import { limitOfMany } from './limit.js'
import { orderBody, SECRET, type SignedOrder, sign } from './orders.js'
import { deliver } from './receivers.js'

/** The growth of a delivery's time with each of its factors. */
export const growth: Group = {
  id: 'growth',
  async measure(bench) {
    const grown = [await byBodySize(bench), await bySecrets(bench), await byRetainedKeys(bench)]
    return [tableOf(grown)]
  },
}

const RETAINED = 'number of retained keys'

/** One position on the axis: the two calls measured there. */
interface Place {
  readonly x: number
  readonly label: string
  readonly receive: () => Promise<void>
  readonly limit: () => unknown
}

/** A factor, and what was measured at its places. */
interface Grown {
  readonly by: string
  readonly file: string
  readonly places: readonly Place[]
  readonly ours: readonly Figures[]
  readonly limits: readonly Figures[]
}

async function byBodySize(bench: Bench): Promise<Grown> {
  const sizes = [300, 3_000, 30_000, 300_000, 1_000_000]
  const places = await Promise.all(
    sizes.map(async (bytes) => {
      const order = await sign(orderBody(bytes))
      const x = order.body.length
      const label = x < 999_500 ? `${short(x / 1000)} KB` : `${short(x / 1_000_000)} MB`
      return { x, label, ...callsFor(order, [SECRET], receiverStore()) }
    }),
  )
  return measure(bench, places, 'size of the body', 'plot-body-size.svg')
}

async function bySecrets(bench: Bench): Promise<Grown> {
  const body = orderBody(300)
  const places = await Promise.all(
    [1, 2, 4, 8, 16].map(async (count) => {
      const secrets = [...Array.from({ length: count - 1 }, (_, i) => `whsec_other_${i}`), SECRET]
      const order = await sign(body)
      return { x: count, label: `${count}`, ...callsFor(order, secrets, receiverStore()) }
    }),
  )
  return measure(bench, places, 'number of secrets', 'plot-secrets.svg')
}

async function byRetainedKeys(bench: Bench): Promise<Grown> {
  const places: Place[] = []
  for (const count of [1_000, 10_000, 100_000, bench.size(1_000_000, 200_000)]) {
    bench.progress(`growth: ${count} retained keys`)
    const store = receiverStore(count)
    const order = await sign(orderBody(300))
    const calls = callsFor(order, [SECRET], store)
    await fill(store, count)
    places.push({ x: count, label: count.toLocaleString('en'), ...calls })
  }
  return measure(bench, places, RETAINED, 'plot-retained-keys.svg')
}

function receiverStore(maxKeys = 10_000): IdempotencyStore {
  return memoryStore({ maxKeys, onEvict: () => {} })
}

async function fill(store: IdempotencyStore, count: number): Promise<void> {
  const [leaseMs, retainMs] = [60_000, 7 * 86_400_000]
  for (let n = 1; n <= count; n++) {
    const lease = { key: `bench/order.created/filled-${n}`, token: `${n}` }
    await store.claim({ ...lease, leaseMs, retainMs })
    await store.complete(lease, retainMs)
  }
}

let keys = 0

function callsFor(
  order: SignedOrder,
  secret: readonly string[],
  store: IdempotencyStore,
): Pick<Place, 'receive' | 'limit'> {
  const receiver = createReceiver({
    secret,
    on: { 'order.created': async () => {} },
    store,
    namespace: 'bench',
    key: () => `order-${++keys}`,
  })
  const verify = limitOfMany(secret)
  return {
    receive: () => deliver(receiver, order, 'handled'),
    limit: () => verify(order.body, order.header),
  }
}

async function measure(bench: Bench, places: readonly Place[], by: string, file: string): Promise<Grown> {
  bench.progress(`growth: ${by}`)
  const ms = bench.size(20, 2)
  const figures = await alternateWarm(
    bench.size(24, 2),
    places.flatMap(({ receive, limit }) => [receive, limit]).map((call) => () => cpuTimeFor(call, ms)),
  )
  const ours = places.map((_, i) => figures[2 * i] ?? [])
  const limits = places.map((_, i) => figures[2 * i + 1] ?? [])
  return { by, file, places, ours, limits }
}

function tableOf(grown: readonly Grown[]): Table {
  return {
    title: 'Growth of a delivery',
    ratio: 'Its time at both ends, to that of the limit, which only verifies and parses',
    unit: PROCESSOR_TIME,
    comparisons: grown.flatMap(comparisonsOf),
    notes: [
      'An order of 1 MB has some 25,000 tickets, each of which is checked. All secrets are tried in any case, by the limit too. The memory store is full, so that it forgets old keys all the time.',
      'One signed order is delivered again and again, each time under another key.',
    ],
    plots: grown.map(plotOf),
  }
}

/** Beside the limit, at both ends; the limit keeps no keys. */
function comparisonsOf({ by, places, ours, limits }: Grown): Comparison[] {
  const last = places.length - 1
  const receive = (i: number): Measured => ({
    name: `receive(), ${by}: ${places[i]?.label}`,
    figures: ours[i] ?? [],
  })
  if (by === RETAINED) return [timeBeside(receive(last), receive(0))]
  return [0, last].map((i) => timeBeside(receive(i), { name: 'the limit', figures: limits[i] ?? [] }))
}

function plotOf({ by, file, places, ours, limits }: Grown): Plot {
  const pointsOf = (all: readonly Figures[]): Point[] =>
    places.map(({ x, label }, i) => ({ x, label, figures: all[i] ?? [] }))
  return {
    file,
    title: `Processor time of a delivery by ${by}`,
    x: by,
    y: 'µs: the best tenth, and up to the median',
    lines: [
      { name: 'receive(), memory store', points: pointsOf(ours) },
      { name: 'the limit: verify and parse', points: pointsOf(limits) },
    ],
  }
}
