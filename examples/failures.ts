// An event that was not handled is kept with its bytes, found by order or by cause, and replayed once the bug is fixed: by a route for your team, and by a
// script. Start it with the endpoint's secret, a database, and a long random token for the route:
//   export TIX_SIGNING_SECRET=whsec_… DATABASE_URL=postgres://… FAILURES_TOKEN=$(openssl rand -hex 32)
//   npx tsx examples/failures.ts
//   curl -H "authorization: Bearer $FAILURES_TOKEN" 'localhost:3000/failures?orderId=ord_1'
//   npx tsx examples/failures.ts replay --group a3c4f9e81b5d2760
import { createHash, timingSafeEqual } from 'node:crypto'
import { parseArgs } from 'node:util'
import express, { type RequestHandler, Router } from 'express'
import { Pool } from 'pg'
import type { Failure, FailureFilter, Outcome, ReplayFilter } from 'tix-webhooks'
import { tixWebhooks } from 'tix-webhooks/express'
import { postgresFailures, postgresInbox } from 'tix-webhooks/postgres'

export const pool = new Pool({
  connectionString: process.env.DATABASE_URL,
  connectionTimeoutMillis: 2_000,
  max: 20,
})
pool.on('error', (error) => console.error(`an idle connection broke: ${error.message}`))

// On one pool, so that a failure is removed in the transaction in which its event is handled.
const inbox = postgresInbox(pool, { purgeEverySeconds: 3600 })
const failures = postgresFailures(pool, { purgeEverySeconds: 3600 })

// When you deploy.
await inbox.migrate()
await failures.migrate()
await pool.query('CREATE TABLE IF NOT EXISTS orders (id text PRIMARY KEY, total_cents integer NOT NULL)')

const hooks = tixWebhooks({
  secret: process.env.TIX_SIGNING_SECRET,
  inbox,
  failures,
  parkAfter: { attempts: 8 }, // 12 hours after the first, if the service keeps to its schedule
  namespace: 'orders',
  on: {
    'order.created': async (event, ctx) => {
      const { id, total_cents } = event.data.order
      await ctx.tx.query('INSERT INTO orders VALUES ($1, $2)', [id, total_cents])
    },
  },
})

// The actions of the route and of the script. An invalid filter is a TypeError.
const actions = {
  async list(filter: FailureFilter) {
    const latest = await failures.list({ ...filter, limit: 50 })
    return { groups: await failures.groups(filter), failures: latest.map(shown) }
  },
  async show({ key = '' }: { key?: string }) {
    const failure = await failures.get(key)
    return failure === undefined ? null : { ...shown(failure), body: Buffer.from(failure.rawBody).toString() }
  },
  async replay({ key, ...filter }: ReplayFilter & { key?: string }) {
    if (key === undefined && filter.group === undefined) throw new TypeError('Give a key or a group.')
    if (key === undefined) {
      const replayed = await hooks.replay({ ...filter, limit: 1_000 })
      return replayed.map((one) => ended(one.key, one))
    }
    const outcome = await hooks.replay(key)
    return outcome === undefined ? [] : [ended(key, outcome)]
  },
  async delete({ key = '' }: { key?: string }) {
    return { deleted: await failures.delete(key) }
  },
}

// Not the bytes, which have the buyer's address, and may be a megabyte each.
const shown = ({ rawBody, ...fields }: Failure) => fields
const ended = (key: string, { outcome, code }: Outcome) => ({ key, outcome, code })

function serve() {
  const { FAILURES_TOKEN: token = '', PORT = '3000' } = process.env
  if (token.length < 32) throw new Error('FAILURES_TOKEN is missing or short: openssl rand -hex 32')
  const digest = (text: string) => createHash('sha256').update(text).digest()
  const expected = digest(`Bearer ${token}`)

  const onlyTeam: RequestHandler = (request, response, next) => {
    if (timingSafeEqual(digest(request.headers.authorization ?? ''), expected)) next()
    else response.sendStatus(401)
  }
  const route =
    (action: (query: object) => Promise<unknown>): RequestHandler =>
    async (request, response) => {
      try {
        response.json(await action(request.query))
      } catch (error) {
        console.error(error)
        response.sendStatus(error instanceof TypeError ? 400 : 503)
      }
    }
  const team = Router()
    .use(onlyTeam)
    .get('/', route(actions.list))
    .get('/body', route(actions.show))
    .post('/replay', route(actions.replay))
    .delete('/', route(actions.delete))

  const server = express().post('/hooks', hooks).use('/failures', team).listen(Number(PORT))
  process.once('SIGTERM', async () => {
    await hooks.drain()
    server.close(() => pool.end())
    // The connections that clients keep open.
    setTimeout(() => server.closeAllConnections(), 3_000).unref()
  })
  return server
}

/** `list`, `show`, `replay` and `delete`, with the filter as options. */
async function runScript(name: string): Promise<void> {
  const string = { type: 'string' } as const
  const options = {
    key: string,
    group: string,
    kind: string,
    state: string,
    orderId: string,
    eventId: string,
  }
  const { values } = parseArgs({ args: process.argv.slice(3), options })
  const action: ((query: object) => Promise<unknown>) | undefined = actions[name as keyof typeof actions]
  if (action === undefined) throw new Error(`${name}? Known are ${Object.keys(actions).join(', ')}.`)
  console.log(JSON.stringify(await action(values), null, 2))
  await hooks.drain()
  await pool.end()
}

const [, , command] = process.argv
export const server = command === undefined ? serve() : await runScript(command)
