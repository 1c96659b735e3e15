import { startProxy } from '../../test/support/tcp-proxy.js'
import type { Bench, Group } from '../support/bench.js'
import { type Comparison, timeBeside } from '../support/comparison.js'
import { compareRates, type Goals } from './compare.js'
import { type Arena, nextKey } from './contender.js'
import { makeTables, storeArenas } from './postgres.js'

/** The default of both clients. */
const POOL = 10

const GOALS: Goals = [
  [1, { atLeast: 0.9 }],
  [16, { atLeast: 2 }],
  [64, { atLeast: 4 }],
  [256, { atLeast: 4 }],
]

/** The rest of the pool is the app's. */
const MOST_CONNECTIONS = 4

/** Many deliveries at once through `postgresStore`: how fast, and with how many connections. */
export const bursts: Group = {
  id: 'bursts',
  async measure(bench) {
    const { url } = await bench.postgres()
    await makeTables(url)
    const rates: Comparison[] = []
    for (const arena of storeArenas(url, POOL)) {
      // Long enough that the last few, which have the pool to themselves, do not matter.
      rates.push(...(await compareRates(bench, arena, GOALS, { ms: 100 })))
      await arena.close()
    }
    return [
      {
        title: 'Bursts of new deliveries at Postgres',
        ratio: 'Deliveries per second through postgresStore, to those by hand',
        unit: 'deliveries per second',
        comparisons: rates,
        notes: [
          `A claim and a completion, with a pool of ${POOL}. By hand with named statements, and without attempts, owner, retention, or take-over when a process dies.`,
        ],
      },
      {
        title: 'Connections in a burst',
        ratio: 'The most connections with a statement under way, of the pool',
        unit: 'connections',
        comparisons: await connections(bench),
        notes: [
          `Counted by a proxy, with 256 in flight. The goal is ${MOST_CONNECTIONS}: the rest is for the app.`,
        ],
      },
    ]
  },
}

async function connections(bench: Bench): Promise<Comparison[]> {
  bench.progress('bursts: connections')
  const postgres = await bench.postgres()
  const proxy = await startProxy({ port: postgres.port })
  const url = new URL(postgres.url)
  url.port = `${proxy.port}`
  const comparisons: Comparison[] = []
  for (const { ours, close } of storeArenas(url.href, POOL)) {
    await burst(ours)
    proxy.resetMostBusy()
    await burst(ours)
    comparisons.push(
      timeBeside(
        { name: `connections of ${ours.name}, 256 in flight`, figures: [proxy.mostBusy] },
        { name: 'the pool', figures: [POOL] },
        { atMost: MOST_CONNECTIONS / POOL },
      ),
    )
    await close()
  }
  await proxy.close()
  return comparisons
}

async function burst({ deliver }: Arena['ours']): Promise<void> {
  for (let times = 0; times < 4; times++) {
    await Promise.all(Array.from({ length: 256 }, () => deliver(nextKey())))
  }
}
