import { join } from 'node:path'
import { Pool } from 'pg'
import { createReceiver, type Failures, type Inbox, type Receiver, type WebhookOptions } from 'tix-webhooks'
import { postgresFailures, postgresInbox, postgresStore } from 'tix-webhooks/postgres'
import { sqliteFailures, sqliteInbox } from 'tix-webhooks/sqlite'
import { openDatabase } from '../../test/support/sqlite-open.js'
import { SECRET, signedOrders } from '../receiver/orders.js'
import { deliver } from '../receiver/receivers.js'
import type { Bench, Group } from '../support/bench.js'
import { type Comparison, rateBeside } from '../support/comparison.js'
import { alternate } from '../support/rounds.js'
import { keptMillion } from './kept-million.js'

const IN_FLIGHT = [1, 16]

/** A way to deduplicate, and failures beside it. */
interface Beside {
  readonly name: string
  readonly options: Pick<WebhookOptions<unknown, unknown>, 'store' | 'inbox'>
  readonly failures: Failures
  close(): Promise<void>
}

/** The cost of the option `failures` for events that are handled and for those that fail, and of what is kept. */
export const failures: Group = {
  id: 'failures',
  async measure(bench) {
    const handled: Comparison[] = []
    const failed: Comparison[] = []
    for (const open of [besidePostgresInbox, besidePostgresStore, besideSqliteInbox]) {
      const beside = await open(bench)
      for (const inFlight of IN_FLIGHT) {
        handled.push(await compare(bench, beside, 'handled', inFlight))
        failed.push(await compare(bench, beside, 'failed', inFlight))
      }
      await beside.close()
    }
    const common = {
      ratio: 'Deliveries per second with the option failures, to those without it',
      unit: 'deliveries per second',
    }
    return [
      {
        ...common,
        title: 'Events that are handled, with failures',
        comparisons: handled,
        notes: ['New orders of 0.3 KB, none of which has failed before; a handler that does nothing.'],
      },
      {
        ...common,
        title: 'Events that fail, with failures',
        comparisons: failed,
        notes: ['New orders, whose handler throws: without failures nothing of them is kept.'],
      },
      await keptMillion(bench),
    ]
  },
}

async function besidePostgresInbox(bench: Bench): Promise<Beside> {
  const pool = await poolOf(bench)
  const inbox = postgresInbox(pool)
  await inbox.migrate()
  return onPostgres('postgresInbox, pg', pool, { inbox: inbox as Inbox<unknown> })
}

async function besidePostgresStore(bench: Bench): Promise<Beside> {
  const pool = await poolOf(bench)
  const store = postgresStore(pool)
  await store.migrate()
  return onPostgres('postgresStore, pg', pool, { store })
}

async function onPostgres(name: string, pool: Pool, options: Beside['options']): Promise<Beside> {
  const failures = postgresFailures(pool)
  await failures.migrate()
  return { name, options, failures, close: () => pool.end() }
}

async function poolOf(bench: Bench): Promise<Pool> {
  const { url } = await bench.postgres()
  return new Pool({ connectionString: url, max: 10 })
}

async function besideSqliteInbox(bench: Bench): Promise<Beside> {
  const db = openDatabase('libsql', join(await bench.folder(), 'failures.db'))
  const inbox = sqliteInbox(db)
  const failures = sqliteFailures(db)
  await inbox.migrate()
  await failures.migrate()
  return {
    name: 'sqliteInbox, libsql',
    options: { inbox: inbox as Inbox<unknown> },
    failures,
    close: async () => void db.close(),
  }
}

async function compare(
  bench: Bench,
  { name, options, failures }: Beside,
  end: 'handled' | 'failed',
  inFlight: number,
): Promise<Comparison> {
  bench.progress(`failures, ${name}: ${end}, ${inFlight} in flight`)
  const receiverWith = (more: Pick<WebhookOptions, 'failures'>): Receiver =>
    createReceiver<unknown, unknown>({
      secret: SECRET,
      namespace: 'bench',
      ...options,
      ...more,
      onError: () => {},
      on: {
        'order.created': async () => {
          if (end === 'failed') throw new Error('a bug')
        },
      },
    })
  const count = bench.size(inFlight === 1 ? 100 : 320, 32)
  const receivers = [receiverWith({ failures }), receiverWith({})]
  const [ours = [], theirs = []] = await alternate(
    bench.size(16, 1),
    receivers.map((receiver) => () => rateOfAll(receiver, { count, inFlight, end })),
  )
  return rateBeside(
    { name: `${name}, ${inFlight} in flight`, figures: ours },
    { name: 'without failures', figures: theirs },
  )
}

interface Deliveries {
  readonly count: number
  readonly inFlight: number
  readonly end: 'handled' | 'failed'
}

/** Delivers this many new orders, and returns deliveries per second. */
async function rateOfAll(receiver: Receiver, { count, inFlight, end }: Deliveries): Promise<number> {
  const waiting = await signedOrders(count)
  const start = performance.now()
  async function work(): Promise<void> {
    for (let order = waiting.pop(); order !== undefined; order = waiting.pop()) {
      await deliver(receiver, order, end)
    }
  }
  await Promise.all(Array.from({ length: inFlight }, work))
  return (count / (performance.now() - start)) * 1000
}
