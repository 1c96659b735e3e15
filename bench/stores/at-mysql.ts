import type { Group } from '../support/bench.js'
import type { Comparison } from '../support/comparison.js'
import { compareRates, type Goals } from './compare.js'
import { makeMysqlTables, mysqlInboxArenas, mysqlStoreArenas } from './mysql.js'
import { countedRoundTrips } from './round-trips.js'

/** The default of both clients. */
const POOL = 10

const STORE_GOALS: Goals = [
  [1, undefined],
  [16, { atLeast: 1 }],
  [64, { atLeast: 2 }],
  [256, { atLeast: 2 }],
]
const INBOX_GOALS: Goals = [
  [1, undefined],
  [16, undefined],
]

/** Deliveries through `mysqlStore` and `mysqlInbox`, compared with the minimal statements, and their round trips. */
export const mysql: Group = {
  id: 'mysql',
  async measure(bench) {
    const { url, port } = await bench.mysql()
    await makeMysqlTables(url)
    const stores: Comparison[] = []
    for (const arena of mysqlStoreArenas(url, POOL)) {
      stores.push(...(await compareRates(bench, arena, STORE_GOALS, { ms: 100 })))
      await arena.close()
    }
    const inboxes: Comparison[] = []
    for (const arena of mysqlInboxArenas(url, 16)) {
      inboxes.push(...(await compareRates(bench, arena, INBOX_GOALS)))
      await arena.close()
    }
    const counted = await countedRoundTrips(port, async (proxied) => {
      const through = new URL(url)
      through.port = `${proxied}`
      return [...mysqlStoreArenas(through.href, 1), ...mysqlInboxArenas(through.href, 1)]
    })
    return [
      {
        title: 'New deliveries at MySQL',
        ratio: 'Deliveries per second through mysqlStore, to those by hand',
        unit: 'deliveries per second',
        comparisons: stores,
        notes: [
          `MariaDB, a pool of ${POOL}. A claim and a completion; by hand without attempts, owner, retention, or take-over when a process dies.`,
        ],
      },
      {
        title: 'The inbox at MySQL',
        ratio: 'Deliveries per second through mysqlInbox, to those by hand',
        unit: 'deliveries per second',
        comparisons: inboxes,
        notes: [
          'One statement of the handler. By hand there is no retention, a second delivery waits for the first, and nothing notices that a handler ended the transaction.',
        ],
      },
      {
        title: 'Round trips of a delivery at MySQL',
        ratio: 'Ours, to those by hand',
        unit: 'round trips',
        comparisons: counted,
        notes: ["The inbox's include one statement of the handler. Counted by a proxy: exact."],
      },
    ]
  },
}
