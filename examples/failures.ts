// An event that was not handled is kept with its bytes, found by order or by cause, and replayed once the bug is fixed: by a route for your team, and by a
// script. Set the endpoint's secret, a database, and a long random token for the route; make the tables with a role that may; then start it:
//   export TIX_SIGNING_SECRET=whsec_… DATABASE_URL=postgres://… FAILURES_TOKEN=$(openssl rand -hex 32)
//   npx tsx examples/failures.ts migrate
//   npx tsx examples/failures.ts
// The route. A key may have characters that a URL may not, so curl encodes it:
//   auth="authorization: Bearer $FAILURES_TOKEN" key=orders/order.created/ord_1 route=localhost:3000/failures
//   curl -H "$auth" "$route?orderId=ord_1"
//   curl -H "$auth" --get --data-urlencode "key=$key" $route/body
//   curl -H "$auth" -X POST "$route/replay?group=a3c4f9e81b5d2760&limit=1"
//   curl -H "$auth" -X POST --get --data-urlencode "key=$key" $route/replay
//   curl -H "$auth" -X DELETE --get --data-urlencode "key=$key" $route
// The script, whose exit code is 1 if one that was replayed is still kept. Try one of a group first:
//   npx tsx examples/failures.ts list --state failing --before 2026-12-01T00:00:00Z
//   npx tsx examples/failures.ts replay --group a3c4f9e81b5d2760 --limit 1
import { createHash, timingSafeEqual } from 'node:crypto'
import { parseArgs } from 'node:util'
import express, { type RequestHandler, Router } from 'express'
import { Pool } from 'pg'
import type { Failure, FailureQuery, Outcome, ReplayFilter } from 'tix-webhooks'
import { tixWebhooks } from 'tix-webhooks/express'
import { postgresFailures, postgresInbox } from 'tix-webhooks/postgres'

const { DATABASE_URL, FAILURES_TOKEN: token = '', PORT = '3000' } = process.env
export const pool = new Pool({ connectionString: DATABASE_URL, connectionTimeoutMillis: 2_000, max: 20 })
pool.on('error', (error) => console.error(`an idle connection broke: ${error.message}`))

// On one pool, so that a failure is removed in the transaction in which its event is handled.
const inbox = postgresInbox(pool, { purgeEverySeconds: 3600 })
const failures = postgresFailures(pool, { purgeEverySeconds: 3600 })

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

// The query of the route, or the options of the script: an unknown or invalid one is a TypeError.
type Asked = Readonly<Record<string, unknown>>
const actions = {
  async list({ limit, before, ...filter }: Asked) {
    const page = { ...limitOf(limit), ...(before === undefined ? {} : { before: new Date(String(before)) }) }
    const latest = await failures.list({ ...filter, ...page } as FailureQuery)
    return { groups: await failures.groups(filter), failures: latest.map(shown) }
  },
  async show(asked: Asked) {
    const failure = found(await failures.get(keyOf(asked)))
    return { ...shown(failure), body: Buffer.from(failure.rawBody).toString() }
  },
  async replay(asked: Asked) {
    if ('key' in asked) {
      const key = keyOf(asked)
      return [ended(key, found(await hooks.replay(key)))]
    }
    const { limit, ...filter } = asked
    if (filter.group === undefined)
      throw new TypeError('Give a key or a group, in the query or as an option.')
    const replayed = await hooks.replay({ ...filter, ...limitOf(limit) } as ReplayFilter)
    if (replayed.length === 0) throw new Missing('There is no failure of this group.')
    return replayed.map((one) => ended(one.key, one))
  },
  async delete(asked: Asked) {
    return { deleted: found(await failures.delete(keyOf(asked))) }
  },
}

class Missing extends Error {}

function found<T>(value: T | undefined): T {
  if (value === undefined || value === false) throw new Missing('There is no such failure.')
  return value
}

function keyOf({ key, ...others }: Asked): string {
  if (typeof key === 'string' && Object.keys(others).length === 0) return key
  throw new TypeError('Give one key, and nothing beside it.')
}
const limitOf = (limit: unknown) => (limit === undefined ? {} : { limit: Number(limit) })

// Not the bytes, which have the buyer's address, and may be a megabyte each.
const shown = ({ rawBody, ...fields }: Failure) => fields
const ended = (key: string, { outcome, code }: Outcome) => ({ key, outcome, code })

function serve() {
  if (token.length < 32) throw new Error('FAILURES_TOKEN is missing or short: openssl rand -hex 32')
  const digest = (text: string) => createHash('sha256').update(text).digest()
  const expected = digest(`Bearer ${token}`)

  const onlyTeam: RequestHandler = (request, response, next) => {
    if (timingSafeEqual(digest(request.headers.authorization ?? ''), expected)) next()
    else response.sendStatus(401)
  }
  const route =
    (action: (asked: Asked) => Promise<unknown>): RequestHandler =>
    async (request, response) => {
      try {
        const unknown = Object.keys(request.query).find((name) => !FIELDS.includes(name))
        if (unknown !== undefined) throw new TypeError(`${unknown}? Known are ${FIELDS.join(', ')}.`)
        response.json(await action(request.query))
      } catch (error) {
        if (error instanceof TypeError) response.status(400).json({ error: error.message })
        else if (error instanceof Missing) response.status(404).json({ error: error.message })
        else {
          console.error(error)
          // The error may name hosts.
          response.status(503).json({ error: 'The database cannot be used: see the log.' })
        }
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

/** When you deploy: the server and the other commands need no right to create a table. */
async function migrate() {
  await inbox.migrate()
  await failures.migrate()
  await pool.query('CREATE TABLE IF NOT EXISTS orders (id text PRIMARY KEY, total_cents integer NOT NULL)')
  return { migrated: true }
}

const commands: Readonly<Record<string, (asked: Asked) => Promise<unknown>>> = { migrate, ...actions }
const FIELDS = ['key', 'group', 'kind', 'state', 'orderId', 'eventId', 'before', 'limit']

/** Runs a command, with what it asks for as options. */
async function runScript(name: string): Promise<void> {
  const options = Object.fromEntries(FIELDS.map((field) => [field, { type: 'string' } as const]))
  try {
    const { values } = parseArgs({ args: process.argv.slice(3), options })
    const command = commands[name]
    if (command === undefined) throw new TypeError(`${name}? Known are ${Object.keys(commands).join(', ')}.`)
    const result = await command(values)
    console.log(JSON.stringify(result, null, 2))
    const isDone = ({ outcome }: Outcome) => ['handled', 'duplicate', 'discarded'].includes(outcome)
    if (name === 'replay' && !(result as Outcome[]).every(isDone)) process.exitCode = 1
  } catch (error) {
    console.error(error instanceof TypeError || error instanceof Missing ? error.message : error)
    process.exitCode = 1
  }
  await hooks.drain()
  await pool.end()
}

const [, , command] = process.argv
export const server = command === undefined ? serve() : await runScript(command)
