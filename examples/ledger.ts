// What became of each event, and a replay of those that failed: by a route for your team, and by a script. Set the endpoint's secret, a database,
// and a long random token for the route; make the tables with a role that may; then start it:
//   export TIX_SIGNING_SECRET=whsec_… DATABASE_URL=postgres://… LEDGER_TOKEN=$(openssl rand -hex 32)
//   npx tsx examples/ledger.ts migrate
//   npx tsx examples/ledger.ts
// The route. A key may have characters that a URL may not, so curl encodes it:
//   auth="authorization: Bearer $LEDGER_TOKEN" key=orders/order.created/ord_1 route=localhost:3000/ledger
//   curl -H "$auth" "$route/list?state=parked"
//   curl -H "$auth" --get --data-urlencode "key=$key" $route/show
//   curl -H "$auth" -X POST "$route/replay?group=a3c4f9e81b5d2760&limit=1"
//   curl -H "$auth" -X POST --get --data-urlencode "key=$key" -d "reason=a+test" $route/discard
// The script, whose exit code is 1 if one that was replayed is still kept. Try one of a group first:
//   npx tsx examples/ledger.ts list --state failing --before 2026-12-01T00:00:00Z
//   npx tsx examples/ledger.ts replay --group a3c4f9e81b5d2760 --limit 1
import { createHash, timingSafeEqual } from 'node:crypto'
import { parseArgs } from 'node:util'
import express, { type RequestHandler, Router } from 'express'
import { Pool } from 'pg'
import type { EventQuery, EventRecord, Outcome, ReplayFilter } from 'tix-webhooks'
import { tixWebhooks } from 'tix-webhooks/express'
import { postgresInbox } from 'tix-webhooks/postgres'

const { DATABASE_URL, LEDGER_TOKEN: token = '', PORT = '3000' } = process.env
export const pool = new Pool({ connectionString: DATABASE_URL, connectionTimeoutMillis: 2_000, max: 20 })
pool.on('error', (error) => console.error(`an idle connection broke: ${error.message}`))

const inbox = postgresInbox(pool)
const { ledger } = inbox

const hooks = tixWebhooks({
  secret: process.env.TIX_SIGNING_SECRET,
  inbox,
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
    const events = await ledger.list({ ...filter, ...page } as EventQuery)
    return { groups: await ledger.groups(), events: events.map(shown) }
  },
  async show(asked: Asked) {
    const event = found(await ledger.get(keyOf(asked)))
    return { ...shown(event), body: event.rawBody && Buffer.from(event.rawBody).toString() }
  },
  async replay({ limit, ...asked }: Asked) {
    if ('key' in asked) return [ended(keyOf(asked), found(await hooks.replay(keyOf(asked))))]
    if (asked.group === undefined) throw new TypeError('Give a key or a group, in the query or as an option.')
    const replayed = await hooks.replay({ ...asked, ...limitOf(limit) } as ReplayFilter)
    if (replayed.length === 0) throw new Missing('No event of this group is failing or parked.')
    return replayed.map((one) => ended(one.key, one))
  },
  async discard({ reason, ...asked }: Asked) {
    return { is: found(await ledger.discard(keyOf(asked), { reason: reason as string })) }
  },
}

class Missing extends Error {}

function found<T>(value: T | undefined): T {
  if (value === undefined) throw new Missing('There is no such event.')
  return value
}

function keyOf({ key, ...others }: Asked): string {
  if (typeof key === 'string' && Object.keys(others).length === 0) return key
  throw new TypeError('Give one key, and nothing beside it.')
}
const limitOf = (limit: unknown) => (limit === undefined ? {} : { limit: Number(limit) })

// Not the bytes, which have the buyer's address, and may be a megabyte.
const shown = ({ rawBody, ...fields }: EventRecord) => fields
const ended = (key: string, { outcome, code }: Outcome) => ({ key, outcome, code })

function serve() {
  if (token.length < 32) throw new Error('LEDGER_TOKEN is missing or short: openssl rand -hex 32')
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
    .get('/list', route(actions.list))
    .get('/show', route(actions.show))
    .post('/replay', route(actions.replay))
    .post('/discard', route(actions.discard))

  const server = express().post('/hooks', hooks).use('/ledger', team).listen(Number(PORT))
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
  await pool.query('CREATE TABLE IF NOT EXISTS orders (id text PRIMARY KEY, total_cents integer NOT NULL)')
  return { migrated: true }
}

const commands: Readonly<Record<string, (asked: Asked) => Promise<unknown>>> = { migrate, ...actions }
const FIELDS = ['key', 'group', 'kind', 'state', 'orderId', 'eventId', 'before', 'limit', 'reason']

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
