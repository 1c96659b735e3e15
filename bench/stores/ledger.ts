import { join } from 'node:path'
import { Pool } from 'pg'
import { createReceiver, type Receiver, type WebhookOptions } from 'tix-webhooks'
import { postgresInbox, postgresStore } from 'tix-webhooks/postgres'
import { sqliteInbox } from 'tix-webhooks/sqlite'
import { openDatabase } from '../../test/support/sqlite-open.js'
import { SECRET, signedOrders } from '../receiver/orders.js'
import { deliver } from '../receiver/receivers.js'
import type { Bench, Group } from '../support/bench.js'
import { type Comparison, rateBeside } from '../support/comparison.js'
import { alternate } from '../support/rounds.js'
import { ledgerMillion } from './ledger-million.js'

const IN_FLIGHT = [1, 16]

interface Backend {
  readonly name: string
  readonly options: Pick<WebhookOptions<unknown, unknown>, 'store' | 'inbox'>
  close(): Promise<void>
}

/** The cost of a failure that is kept, and of what is kept. An event that never fails costs the same with `keep: 'nothing'`. */
export const ledger: Group = {
  id: 'ledger',
  async measure(bench) {
    const comparisons: Comparison[] = []
    for (const open of [onPostgresInbox, onPostgresStore, onSqliteInbox]) {
      const backend = await open(bench)
      for (const inFlight of IN_FLIGHT) comparisons.push(await compare(bench, backend, inFlight))
      await backend.close()
    }
    return [
      {
        title: 'Events that fail',
        ratio: "Deliveries per second with keep: 'failed', to those with keep: 'nothing'",
        unit: 'deliveries per second',
        comparisons,
        notes: ['New orders of 0.3 KB, whose handler throws.'],
      },
      await ledgerMillion(bench),
    ]
  },
}

async function onPostgresInbox(bench: Bench): Promise<Backend> {
  const pool = await poolOf(bench)
  const inbox = postgresInbox(pool)
  await inbox.migrate()
  return { name: 'postgresInbox, pg', options: { inbox }, close: () => pool.end() }
}

async function onPostgresStore(bench: Bench): Promise<Backend> {
  const pool = await poolOf(bench)
  const store = postgresStore(pool)
  await store.migrate()
  return { name: 'postgresStore, pg', options: { store }, close: () => pool.end() }
}

async function poolOf(bench: Bench): Promise<Pool> {
  const { url } = await bench.postgres()
  return new Pool({ connectionString: url, max: 10 })
}

async function onSqliteInbox(bench: Bench): Promise<Backend> {
  const db = openDatabase('libsql', join(await bench.folder(), 'failures.db'))
  const inbox = sqliteInbox(db)
  await inbox.migrate()
  return { name: 'sqliteInbox, libsql', options: { inbox }, close: async () => void db.close() }
}

async function compare(bench: Bench, { name, options }: Backend, inFlight: number): Promise<Comparison> {
  bench.progress(`ledger, ${name}: ${inFlight} in flight`)
  const receiverThatKeeps = (keep: 'failed' | 'nothing'): Receiver =>
    createReceiver<unknown, unknown>({
      secret: SECRET,
      namespace: 'bench',
      ...options,
      keep,
      onError: () => {},
      on: {
        'order.created': async () => {
          throw new Error('a bug')
        },
      },
    })
  const count = bench.size(inFlight === 1 ? 100 : 320, 32)
  const receivers = [receiverThatKeeps('failed'), receiverThatKeeps('nothing')]
  const [ours = [], theirs = []] = await alternate(
    bench.size(16, 1),
    receivers.map((receiver) => () => rateOfAll(receiver, count, inFlight)),
  )
  return rateBeside(
    { name: `${name}, ${inFlight} in flight`, figures: ours },
    { name: 'nothing is kept', figures: theirs },
  )
}

/** Delivers this many new orders, and returns deliveries per second. */
async function rateOfAll(receiver: Receiver, count: number, inFlight: number): Promise<number> {
  const waiting = await signedOrders(count)
  const start = performance.now()
  async function work(): Promise<void> {
    for (let order = waiting.pop(); order !== undefined; order = waiting.pop()) {
      await deliver(receiver, order, 'failed')
    }
  }
  await Promise.all(Array.from({ length: inFlight }, work))
  return (count / (performance.now() - start)) * 1000
}
