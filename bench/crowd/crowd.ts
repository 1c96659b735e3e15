import { Pool } from 'pg'
import { postgresInbox } from 'tix-webhooks/postgres'
import type { Group } from '../support/bench.js'
import { startChild } from '../support/child.js'
import { whole } from '../support/figures.js'
import { type Crowd, type Polled, type Seen, sendCrowd } from './sender.js'
import type { CrowdServer } from './server.js'

/** The default of pg. */
const POOL = 10

/** More deliveries at once than the pool of an inbox has connections. */
export const crowd: Group = {
  id: 'crowd',
  async measure(bench) {
    const { url } = await bench.postgres()
    await makeTables(url)
    const crowds: Crowd[] = [
      { size: bench.size(300, 50), scale: bench.size(4, 20), retries: true },
      // At their own speed: the signatures of so many take a second of the processor.
      { size: bench.size(3_000, 300), scale: bench.size(1, 20), retries: false },
    ]
    const rows: string[][] = []
    for (const crowd of crowds) {
      bench.progress(`crowd: ${crowd.size}`)
      const seen = await sendTo({ url, connections: POOL, scale: crowd.scale }, crowd)
      rows.push([whole(crowd.size), ...cellsOf(seen, crowd)])
    }
    return [
      {
        title: `A crowd at an inbox with a pool of ${POOL}`,
        columns: [
          'deliveries of one account at once',
          'handled at the first attempt',
          'all answered after',
          'all handled after',
          'attempts for each',
          'another account: refused, slowest',
          'SELECT 1: failed, slowest',
          'health(): failed, slowest',
        ],
        rows,
        notes: [
          'Handlers take 0.4 s between two statements; connectionTimeoutMillis is 2 s, timeoutSeconds 10. The other account delivers ten times, every half a second; so often are the pool and health() asked too, until all is over.',
          'The sender obeys Retry-After. All times of the 300 are a quarter of these in the run. Of the 3,000, only the first attempts: ten connections need two minutes for all, with any limit.',
        ],
      },
    ]
  },
}

async function makeTables(url: string): Promise<void> {
  const pool = new Pool({ connectionString: url, max: 1 })
  await postgresInbox(pool).migrate()
  await pool.query('CREATE TABLE IF NOT EXISTS effects (key text NOT NULL)')
  await pool.end()
}

/** In a process of its own, which has the processor for itself while this one waits for answers. */
export async function sendTo(app: CrowdServer, crowd: Crowd): Promise<Seen> {
  const server = startChild(new URL('server.ts', import.meta.url), [JSON.stringify(app)])
  try {
    return await sendCrowd(await server.ask<number>('port'), crowd)
  } finally {
    await server.end()
  }
}

function cellsOf(seen: Seen, { size, retries }: Crowd): string[] {
  return [
    whole(seen.handledAtFirst),
    seconds(seen.answeredMs),
    ...(retries ? [seconds(seen.handledMs), (seen.attempts / size).toFixed(1)] : ['', '']),
    ...[seen.otherAccount, seen.queries, seen.health].map(
      ({ sent, failed, slowestMs }: Polled) => `${failed} of ${sent}, ${seconds(slowestMs)}`,
    ),
  ]
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`
}
