// An app of several processes by node:cluster. `kill -HUP` of the primary replaces them one by one, as a deploy does, and no delivery is
// refused. PM2 in cluster mode is such a primary: it needs the part of a worker alone.
//   DATABASE_URL=… TIX_SIGNING_SECRET=whsec_… npx tsx examples/deploy/cluster.ts
import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import express from 'express'
import { Pool } from 'pg'
import { tixWebhooks } from 'tix-webhooks/express'
import { postgresStore } from 'tix-webhooks/postgres'

if (cluster.isPrimary) void supervise()
else serve()

async function supervise(): Promise<void> {
  const leaving = new Set<Worker>() // each has its replacement, or needs none
  let isEnding = false
  let replaced = Promise.resolve()
  const workers = () => Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined)
  const start = () => {
    cluster.fork()
    return once(cluster, 'listening') // of the next one, if this one crashes first
  }
  const replace = async (old: Worker) => {
    leaving.add(old)
    await start()
    old.process.kill('SIGTERM')
    if (!old.isDead()) await once(old, 'exit')
  }
  const replaceAll = async () => {
    for (const worker of workers()) if (!isEnding) await replace(worker)
    console.info('replaced')
  }
  cluster.on('exit', async (worker) => {
    if (leaving.delete(worker)) return
    await sleep(1_000) // it crashed, and the next one may crash at once
    if (!isEnding) cluster.fork()
  })
  onSignals(() => {
    isEnding = true
    for (const worker of workers()) worker.process.kill('SIGTERM')
  })
  process.on('SIGHUP', () => {
    replaced = replaced.then(replaceAll) // one at a time
  })
  for (let count = Math.max(2, availableParallelism()); count > 0 && !isEnding; count--) await start()
  console.info('ready')
}

function serve(): void {
  const pool = new Pool({ connectionString: process.env.DATABASE_URL, connectionTimeoutMillis: 2_000 })
  pool.on('error', (error) => console.error(error.message))
  const hooks = tixWebhooks({
    secret: process.env.TIX_SIGNING_SECRET,
    store: postgresStore(pool), // the processes share it: migrate() when you deploy
    namespace: 'orders',
    maxRunSeconds: 25,
    on: { 'order.created': async (event) => console.info(event.data.order.id) },
  })
  const server = express()
    .post('/hooks', hooks)
    .listen(Number(process.env.PORT ?? 3000))

  onSignals(async () => {
    setTimeout(() => process.exit(1), 50_000).unref() // if something hangs
    server.closeIdleConnections = () => {} // close() would close those on which a delivery is on its way
    const closed = new Promise((resolve) => server.close(resolve)) // before the drain: the primary gives it no more connections
    server.maxRequestsPerSocket = 1 // each answer closes its connection
    await hooks.drain({ graceSeconds: 3 })
    setTimeout(() => server.closeAllConnections(), 3_000) // connections that clients keep open
    await closed
    await pool.end()
    process.exit() // the channel to the primary would keep it alive
  })
}

/** Once: Ctrl-C reaches every process, and then the primary signals the workers. */
function onSignals(end: () => void): void {
  let isEnding = false
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      if (!isEnding) end()
      isEnding = true
    })
  }
}
