import { Pool } from 'pg'
import { postgresInbox } from 'tix-webhooks/postgres'
import type { Bench, Group } from '../support/bench.js'
import { startChild } from '../support/child.js'
import { whole } from '../support/figures.js'
import { watchOthers } from '../support/others.js'
import { tally } from '../support/rounds.js'
import { type Crowd, type Polled, type Seen, sendCrowd } from './sender.js'
import type { CrowdServer } from './server.js'

/** The default of pg. */
const POOL = 10

/** The limits of the receiver, side by side. */
const LIMITS: readonly Limit[] = [{ name: 'no limit', concurrency: 1_000_000 }, { name: 'the default' }]

/** The candidates for the default. */
const CANDIDATES: readonly Limit[] = [
  { name: 'no limit', concurrency: 1_000_000 },
  { name: `${POOL}, the pool`, concurrency: POOL },
  { name: `${POOL - 1}, one less`, concurrency: POOL - 1 },
  { name: `${POOL - 2}, two less`, concurrency: POOL - 2 },
  { name: `${POOL / 2}, half`, concurrency: POOL / 2 },
]

const POLLS = ['another account: refused, slowest', 'SELECT 1: failed, slowest', 'health(): failed, slowest']

interface Limit extends Pick<CrowdServer, 'concurrency'> {
  readonly name: string
}

/** More deliveries at once than the pool of an inbox has connections, by the limit of its runs. */
export const crowd: Group = {
  id: 'crowd',
  async measure(bench) {
    const { url } = await bench.postgres()
    await makeTables(url)
    return [
      {
        title: `A crowd at an inbox with a pool of ${POOL}`,
        columns: [
          'deliveries of one account at once',
          'handled at the first attempt',
          'all answered after',
          'half handled after, all',
          'attempts for each',
          ...POLLS,
        ],
        rows: await crowds(bench, url),
        notes: [
          'Handlers take 0.4 s between two statements; connectionTimeoutMillis is 2 s, timeoutSeconds 10. The other account delivers ten times, every half a second; so often are the pool and health() asked too, until all is over.',
          'The sender obeys Retry-After: 5 to 15 s. All times of the 300 are a quarter of these in the run. Of the 3,000, only the first attempts: ten connections need two minutes for all, with any limit.',
        ],
      },
      {
        title: `Runs at once that ask a pool of ${POOL} for a second connection`,
        columns: ['limit', 'handled at the first attempt, of 300', ...POLLS],
        rows: await candidates(bench, url),
        notes: [
          'The same crowd, with a handledBefore that asks the pool while its run holds a connection: docs/decisions/an-inbox-leaves-a-connection.md.',
        ],
      },
    ]
  },
}

async function crowds(bench: Bench, url: string): Promise<string[][]> {
  const sizes: Crowd[] = [
    { size: bench.size(300, 50), scale: bench.size(4, 20), retries: true },
    // At their own speed: the signatures of so many take a second of the processor.
    { size: bench.size(3_000, 300), scale: bench.size(1, 20), retries: false },
  ]
  const rows: string[][] = []
  for (const crowd of sizes) {
    for (const { name, ...limit } of LIMITS) {
      bench.progress(`crowd: ${crowd.size}, ${name}`)
      const seen = await sendTo({ url, connections: POOL, scale: crowd.scale, ...limit }, crowd)
      rows.push([`${whole(crowd.size)}, ${name}`, ...cellsOf(seen, crowd)])
    }
  }
  return rows
}

async function candidates(bench: Bench, url: string): Promise<string[][]> {
  const crowd: Crowd = { size: bench.size(300, 50), scale: bench.size(2, 20), retries: false }
  const rows: string[][] = []
  for (const { name, ...limit } of CANDIDATES) {
    bench.progress(`crowd: handledBefore, ${name}`)
    const app = { url, connections: POOL, asksPool: true, scale: crowd.scale, ...limit }
    const seen = await sendTo(app, crowd)
    rows.push([name, whole(seen.handledAtFirst), ...pollsOf(seen)])
  }
  return rows
}

async function makeTables(url: string): Promise<void> {
  const pool = new Pool({ connectionString: url, max: 1 })
  await postgresInbox(pool).migrate()
  await pool.query('CREATE TABLE IF NOT EXISTS effects (key text NOT NULL)')
  await pool.end()
}

/** In a process of its own, which has the processor for itself while this one waits for answers. */
async function sendTo(app: CrowdServer, crowd: Crowd): Promise<Seen> {
  const server = startChild(new URL('server.ts', import.meta.url), [JSON.stringify(app)])
  try {
    const port = await server.ask<number>('port')
    const wasBusy = watchOthers()
    const seen = await sendCrowd(port, crowd)
    tally.kept++
    if (wasBusy()) tally.busy++
    return seen
  } finally {
    await server.end()
  }
}

function cellsOf(seen: Seen, { size, retries }: Crowd): string[] {
  return [
    whole(seen.handledAtFirst),
    seconds(seen.answeredMs),
    ...(retries
      ? [`${seconds(seen.halfHandledMs)}, ${seconds(seen.handledMs)}`, (seen.attempts / size).toFixed(1)]
      : ['', '']),
    ...pollsOf(seen),
  ]
}

function pollsOf({ otherAccount, queries, health }: Seen): string[] {
  return [otherAccount, queries, health].map(
    ({ sent, failed, slowestMs }: Polled) => `${failed} of ${sent}, ${seconds(slowestMs)}`,
  )
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`
}
