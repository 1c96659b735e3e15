import { startProxy } from '../../test/support/tcp-proxy.js'
import type { Group } from '../support/bench.js'
import type { Comparison } from '../support/comparison.js'
import { compareRates, type Goals } from './compare.js'
import { inboxArenas, makeTables } from './postgres.js'

const LOOPBACK: Goals = [
  [1, { atLeast: 0.9 }],
  [16, { atLeast: 0.9 }],
]
const FAR: Goals = [
  [1, { atLeast: 1 }],
  [16, { atLeast: 1 }],
]

/** Deliveries through `postgresInbox`, on loopback and over a network. */
export const inbox: Group = {
  id: 'inbox',
  async measure(bench) {
    const { port, url } = await bench.postgres()
    await makeTables(url)
    const proxy = await startProxy({ port, delayMs: 1 })
    const far = new URL(url)
    far.port = `${proxy.port}`
    const near: Comparison[] = []
    const distant: Comparison[] = []
    for (const [address, where, goals, comparisons] of [
      [url, '', LOOPBACK, near],
      [far.href, ', 1 ms away', FAR, distant],
    ] as const) {
      for (const arena of inboxArenas(address, 16)) {
        comparisons.push(...(await compareRates(bench, arena, goals, { where })))
        await arena.close()
      }
    }
    await proxy.close()
    const common = {
      ratio: 'Deliveries per second through postgresInbox, to those by hand',
      unit: 'deliveries per second',
    }
    return [
      {
        ...common,
        title: 'The inbox at Postgres, on loopback',
        comparisons: near,
        notes: [
          'One statement of the handler. By hand there is no retention, and nothing notices that a handler ended the transaction.',
        ],
      },
      {
        ...common,
        title: 'The inbox at Postgres, with a round trip of a millisecond',
        comparisons: distant,
        notes: ['The same through a proxy that delays what the server sends.'],
      },
    ]
  },
}
