import { join } from 'node:path'
import { runMigrations } from 'graphile-worker'
import { Pool, type PoolClient } from 'pg'
import { postgresInbox } from 'tix-webhooks/postgres'
import { sqliteInbox } from 'tix-webhooks/sqlite'
import { openDatabase } from '../../test/support/sqlite-open.js'
import type { Bench, Group } from '../support/bench.js'
import { short, spread, times } from '../support/figures.js'
import { alternate, rateOf, ratios } from '../support/rounds.js'
import { IN_FLIGHT, keyOf, nextKey, throughInbox } from './contender.js'

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
    const rows = [...(await onPostgres(bench)), ...(await onSqlite(bench))]
    return [
      {
        title: 'In the transaction of an inbox: a handler that writes one row, and one that does more',
        columns: ['inbox', 'in flight', 'the handler writes one row, and', 'deliveries per second', 'ratio'],
        rows,
        notes: [
          'The ratio is to the rate of the first line, within each round: 0.8 means a fifth fewer deliveries per second.',
          'Another row is the least that a further statement costs: the round trip.',
        ],
      },
    ]
  },
}

async function onPostgres(bench: Bench): Promise<string[][]> {
  const { url } = await bench.postgres()
  await runMigrations({ connectionString: url })
  const pool = new Pool({ connectionString: url, max: Math.max(...IN_FLIGHT) })
  const inbox = postgresInbox(pool)
  await inbox.migrate()
  await pool.query('CREATE TABLE IF NOT EXISTS effects (key text NOT NULL)')
  const steps: Step<PoolClient>[] = [
    { name: 'nothing else', run: () => {} },
    { name: 'another row', run: (tx, key) => tx.query(EFFECT, [key]) },
    ...orderSteps((tx: PoolClient, change) => inbox.isNewest(tx, change)),
    {
      name: "a job of Graphile Worker: add_job('issue', …)",
      run: (tx, key) => tx.query("SELECT graphile_worker.add_job('issue', $1::json)", [{ key }]),
    },
  ]
  const rows: string[][] = []
  for (const inFlight of IN_FLIGHT) {
    const contenders = steps.map(({ name, run }) =>
      throughInbox(name, inbox, async (tx: PoolClient, key) => {
        await run(tx, key)
        await tx.query(EFFECT, [key])
      }),
    )
    rows.push(...(await compare(bench, 'postgresInbox, pg', inFlight, contenders)))
  }
  await pool.end()
  return rows
}

async function onSqlite(bench: Bench): Promise<string[][]> {
  const db = openDatabase('libsql', join(await bench.folder(), 'in-transaction.db'))
  const inbox = sqliteInbox(db)
  await inbox.migrate()
  db.exec('CREATE TABLE effects (key TEXT NOT NULL)')
  const effect = db.prepare('INSERT INTO effects (key) VALUES (?)')
  const steps: Step<typeof db>[] = [
    { name: 'nothing else', run: () => {} },
    { name: 'another row', run: (_, key) => effect.run(key) },
    ...orderSteps((handed: typeof db, change) => inbox.isNewest(handed, change)),
  ]
  const contenders = steps.map(({ name, run }) =>
    throughInbox(name, inbox, async (tx, key) =>
      tx.commit((handed) => {
        run(handed, key)
        effect.run(key)
      }),
    ),
  )
  const rows = await compare(bench, 'sqliteInbox, libsql', 1, contenders)
  db.close()
  return rows
}

interface Change {
  readonly subject: string
  readonly at: Date | string
}

function orderSteps<Tx>(isNewest: (tx: Tx, change: Change) => unknown): Step<Tx>[] {
  let next = 0
  const known = (): string => keyOf(next++ % SUBJECTS)
  return [
    {
      name: 'isNewest, of a new subject',
      run: (tx, key) => isNewest(tx, { subject: key, at: '2026-11-22T10:00:00Z' }),
    },
    {
      name: 'isNewest, newer than what is known',
      run: (tx) => isNewest(tx, { subject: known(), at: new Date() }),
    },
    {
      name: 'isNewest, too late',
      run: (tx) => isNewest(tx, { subject: known(), at: '2001-01-01T00:00:00Z' }),
    },
  ]
}

async function compare(
  bench: Bench,
  name: string,
  inFlight: number,
  contenders: readonly ReturnType<typeof throughInbox>[],
): Promise<string[][]> {
  bench.progress(`in the transaction: ${name}, ${inFlight} in flight`)
  const ms = bench.size(120, 20)
  const figures = await alternate(
    bench.size(21, 1),
    contenders.map(
      ({ deliver }) =>
        () =>
          rateOf(() => deliver(nextKey()), { inFlight, ms }),
    ),
  )
  return contenders.map((contender, i) => [
    ...(i === 0 ? [name, `${inFlight}`] : ['', '']),
    contender.name,
    spread(figures[i] ?? [], short),
    i === 0 ? '' : spread(ratios(figures[i] ?? [], figures[0] ?? []), times),
  ])
}
