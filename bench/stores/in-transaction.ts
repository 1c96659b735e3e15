import { join } from 'node:path'
import { runMigrations } from 'graphile-worker'
import { Pool, type PoolClient } from 'pg'
import { postgresInbox } from 'tix-webhooks/postgres'
import { sqliteInbox } from 'tix-webhooks/sqlite'
import { openDatabase } from '../../test/support/sqlite-open.js'
import type { Bench, Group } from '../support/bench.js'
import { rateOf } from '../support/calls.js'
import { type Comparison, type Measured, rateBeside } from '../support/comparison.js'
import { alternate } from '../support/rounds.js'
import { keyOf, nextKey, throughInbox } from './contender.js'

/** Of subjects that are known, so many that no two deliveries wait for each other often. */
const SUBJECTS = 10_000

const EFFECT = 'INSERT INTO effects (key) VALUES ($1)'

/** Something that a handler does in the transaction of the inbox. */
interface Step<Tx> {
  readonly name: string
  run(tx: Tx, key: string): unknown
}

/** The cost of what a handler can do in the transaction of an inbox: relative to a handler that writes one row, in one run. */
export const inTransaction: Group = {
  id: 'in-transaction',
  async measure(bench) {
    return [
      {
        title: 'In the transaction of an inbox',
        ratio: 'Deliveries per second, to those of a handler that writes one row and nothing else',
        unit: 'deliveries per second',
        comparisons: [...(await onPostgres(bench)), ...(await onSqlite(bench))],
        notes: ['One at a time. Another row is the least that a further statement costs: the round trip.'],
      },
    ]
  },
}

async function onPostgres(bench: Bench): Promise<Comparison[]> {
  const { url } = await bench.postgres()
  await runMigrations({ connectionString: url })
  const pool = new Pool({ connectionString: url, max: 1 })
  const inbox = postgresInbox(pool)
  await inbox.migrate()
  await pool.query('CREATE TABLE IF NOT EXISTS effects (key text NOT NULL)')
  const steps: Step<PoolClient>[] = [
    { name: 'nothing else', run: () => {} },
    { name: 'another row', run: (tx, key) => tx.query(EFFECT, [key]) },
    ...orderSteps((tx: PoolClient, change) => inbox.recordIfNewest(tx, change)),
    {
      name: "a job of Graphile Worker: add_job('issue', …)",
      run: (tx, key) => tx.query("SELECT graphile_worker.add_job('issue', $1::json)", [{ key }]),
    },
  ]
  const contenders = steps.map(({ name, run }) =>
    throughInbox(name, inbox, async (tx: PoolClient, key) => {
      await run(tx, key)
      await tx.query(EFFECT, [key])
    }),
  )
  const comparisons = await compare(bench, 'postgresInbox, pg', contenders)
  await pool.end()
  return comparisons
}

async function onSqlite(bench: Bench): Promise<Comparison[]> {
  const db = openDatabase('libsql', join(await bench.folder(), 'in-transaction.db'))
  // A purge in the background waits for the end of a turn, and deliveries without any network leave it none until the database is closed.
  const inbox = sqliteInbox(db, { purgeEverySeconds: false })
  await inbox.migrate()
  db.exec('CREATE TABLE effects (key TEXT NOT NULL)')
  const effect = db.prepare('INSERT INTO effects (key) VALUES (?)')
  const steps: Step<typeof db>[] = [
    { name: 'nothing else', run: () => {} },
    { name: 'another row', run: (_, key) => effect.run(key) },
    ...orderSteps((handed: typeof db, change) => inbox.recordIfNewest(handed, change)),
  ]
  const contenders = steps.map(({ name, run }) =>
    throughInbox(name, inbox, async (tx, key) =>
      tx.commit((handed) => {
        run(handed, key)
        effect.run(key)
      }),
    ),
  )
  const comparisons = await compare(bench, 'sqliteInbox, libsql', contenders)
  db.close()
  return comparisons
}

interface Change {
  readonly subject: string
  readonly at: Date | string
}

function orderSteps<Tx>(recordIfNewest: (tx: Tx, change: Change) => unknown): Step<Tx>[] {
  let next = 0
  const known = (): string => keyOf(next++ % SUBJECTS)
  return [
    {
      name: 'recordIfNewest, of a new subject',
      run: (tx, key) => recordIfNewest(tx, { subject: key, at: '2026-11-22T10:00:00Z' }),
    },
    {
      name: 'recordIfNewest, newer than what is known',
      run: (tx) => recordIfNewest(tx, { subject: known(), at: new Date() }),
    },
  ]
}

async function compare(
  bench: Bench,
  name: string,
  contenders: readonly ReturnType<typeof throughInbox>[],
): Promise<Comparison[]> {
  bench.progress(`in the transaction: ${name}`)
  const ms = bench.size(60, 20)
  const figures = await alternate(
    bench.size(24, 1),
    contenders.map(
      ({ deliver }) =>
        () =>
          rateOf(() => deliver(nextKey()), { inFlight: 1, ms }),
    ),
  )
  const [alone, ...others] = contenders.map(
    (contender, i): Measured => ({
      name: `${name}: ${contender.name}`,
      figures: figures[i] ?? [],
    }),
  ) as [Measured, ...Measured[]]
  return others.map((other) => rateBeside(other, alone))
}
