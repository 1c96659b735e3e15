import { createReceiver, type IdempotencyStore, memoryStore } from 'tix-webhooks'
import type { Bench, Group } from '../support/bench.js'
import { alternateWarm, cpuTimeFor } from '../support/cpu-time.js'
import { short, spread, times } from '../support/figures.js'
import type { Point } from '../support/plot.js'
import type { Table } from '../support/report.js'
import { type Figures, ratios } from '../support/rounds.js'
import { PROCESSOR_TIME } from './comparison.js'
import { limitOfMany } from './limit.js'
import { orderBody, SECRET, type SignedOrder, sign } from './orders.js'
import { deliver } from './receivers.js'

/** The growth of a delivery's time with each of its factors. */
export const growth: Group = {
  id: 'growth',
  measure: async (bench) => [await byBodySize(bench), await bySecrets(bench), await byRetainedKeys(bench)],
}

/** One position on the axis: the two calls measured there. */
interface Place {
  readonly x: number
  readonly label: string
  readonly receive: () => Promise<void>
  readonly limit: () => unknown
}

interface Growth {
  readonly file: string
  /** The factor. */
  readonly by: string
  readonly notes: readonly string[]
}

async function byBodySize(bench: Bench): Promise<Table> {
  const sizes = [300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000]
  const places = await Promise.all(
    sizes.map(async (bytes) => {
      const order = await sign(orderBody(bytes))
      const x = order.body.length
      const label = x < 999_500 ? `${short(x / 1000)} KB` : `${short(x / 1_000_000)} MB`
      return { x, label, ...callsFor(order, [SECRET], receiverStore()) }
    }),
  )
  return grown(bench, places, {
    file: 'plot-body-size.svg',
    by: 'size of the body',
    notes: ['An order of 1 MB has some 25,000 tickets, each of which is checked.'],
  })
}

async function bySecrets(bench: Bench): Promise<Table> {
  const body = orderBody(300)
  const places = await Promise.all(
    [1, 2, 4, 8, 16].map(async (count) => {
      const secrets = [...Array.from({ length: count - 1 }, (_, i) => `whsec_other_${i}`), SECRET]
      const order = await sign(body)
      return { x: count, label: `${count}`, ...callsFor(order, secrets, receiverStore()) }
    }),
  )
  return grown(bench, places, {
    file: 'plot-secrets.svg',
    by: 'number of secrets',
    notes: ['The last of them has signed. All are tried in any case, by the limit too.'],
  })
}

async function byRetainedKeys(bench: Bench): Promise<Table> {
  const places: Place[] = []
  for (const count of [1_000, 10_000, 100_000, bench.size(1_000_000, 200_000)]) {
    bench.progress(`growth: ${count} retained keys`)
    const store = receiverStore(count)
    const order = await sign(orderBody(300))
    const calls = callsFor(order, [SECRET], store)
    await fill(store, count)
    places.push({ x: count, label: count.toLocaleString('en'), ...calls })
  }
  return grown(bench, places, {
    file: 'plot-retained-keys.svg',
    by: 'number of retained keys',
    notes: ['The memory store holds as many as it may, so that it forgets old ones all the time.'],
  })
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

async function grown(bench: Bench, places: readonly Place[], { file, by, notes }: Growth): Promise<Table> {
  bench.progress(`growth: ${by}`)
  const ms = bench.size(25, 2)
  const figures = await alternateWarm(
    bench.size(21, 2),
    places.flatMap(({ receive, limit }) => [receive, limit]).map((call) => () => cpuTimeFor(call, ms)),
  )
  const ours = places.map((_, i) => figures[2 * i] ?? [])
  const least = places.map((_, i) => figures[2 * i + 1] ?? [])
  const pointsOf = (all: readonly Figures[]): Point[] =>
    places.map(({ x, label }, i) => ({ x, label, figures: all[i] ?? [] }))
  return {
    title: `Growth with the ${by}: microseconds of a delivery`,
    columns: [by, 'receive()', 'the limit', 'ratio'],
    rows: places.map(({ label }, i) => {
      const [our = [], limit = []] = [ours[i], least[i]]
      return [label, spread(our, short), spread(limit, short), spread(ratios(our, limit), times)]
    }),
    notes: [
      PROCESSOR_TIME,
      ...notes,
      'One signed order is delivered again and again, under another key each time; all else is as in the rows of receive() above.',
    ],
    plot: {
      file,
      title: `Processor time of a delivery by ${by}`,
      x: by,
      y: 'µs: median, and the middle half',
      lines: [
        { name: 'receive(), memory store', points: pointsOf(ours) },
        { name: 'the limit: verify and parse', points: pointsOf(least) },
      ],
    },
  }
}
