// The jobs, and the worker that runs them in this process, with its own connections.
import { randomUUID } from 'node:crypto'
import { sql } from 'drizzle-orm'
import { run } from 'graphile-worker'
import { db, tickets } from './database.js'

type IssueTickets = { account: string; tickets: string[] }

export const addIssueTickets = (job: IssueTickets) =>
  sql`SELECT graphile_worker.add_job('issue-tickets', ${JSON.stringify(job)}::json)`

async function issueTickets(payload: unknown) {
  const job = payload as IssueTickets
  const rows = job.tickets.map((id) => ({ account: job.account, id, barcode: randomUUID() }))
  // Graphile Worker may run a job again: a ticket keeps its first barcode.
  if (rows.length > 0) await db.insert(tickets).values(rows).onConflictDoNothing()
}

export const worker = await run({
  connectionString: process.env.DATABASE_URL ?? '',
  noHandleSignals: true,
  taskList: { 'issue-tickets': issueTickets },
})
