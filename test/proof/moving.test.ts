import { randomUUID } from 'node:crypto'
import type { RequestListener } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { Pool } from 'pg'
import type { IdempotencyStore, OrderCreatedEvent } from 'tix-webhooks'
import { tixWebhooks } from 'tix-webhooks/fetch'
import { postgresStore } from 'tix-webhooks/postgres'
import { redisStore } from 'tix-webhooks/redis'
import { beforeAll, expect, test, vi } from 'vitest'
import { snippetsFolder, snippetsOf } from '../support/compile.js'
import { orderCreated, SECRET, type SignedDelivery, sign } from '../support/deliveries.js'
import { requestOf } from '../support/fetching.js'
import { listen } from '../support/http.js'
import { legacyReceiver } from '../support/legacy-receiver.js'
import { onPostgres, onRedis, postgresVariables, redisUrl } from '../support/on-servers.js'
import { readPage } from '../support/pages.js'
import { WAIT_LIMIT_MS } from '../support/patience.js'
import { testDatabase } from '../support/postgres-database.js'
import { seeded } from '../support/storm.js'

/** A move, whose new version is a snippet of the page. */
interface Move {
  readonly from: 'byHand' | 'redis' | 'postgres'
  /** A text that only its snippet contains. */
  readonly to: string
  /** The changes to the snippet, for another move by the same lines. */
  readonly changes?: Readonly<Record<string, string>>
}

const ASKING_FOR_EFFECTS = 'SELECT FROM tickets'
const ASKING_FOR_RECORDS = 'handledBefore: (event, { keyIn }) => oldStore'
const CLAIMING = "token: 'moving'"
const INSERTING = 'INSERT INTO processed_events'

const FROM_POSTGRES = {
  'redisStore(redis)': 'postgresStore(pool)',
  '{ postgresInbox }': '{ postgresInbox, postgresStore }',
}
const NEW_NAMESPACE = { "namespace: 'orders'": "namespace: 'sales'" }
const OF_ACME = {
  'secret: process.env.TIX_SIGNING_SECRET,':
    "account: () => ({ id: 'acme', secret: process.env.TIX_SIGNING_SECRET! }),",
}
const NEW_KEY = {
  'export const POST': `
    const oldKey = (event: any) => event.data.order.id
    export const POST`,
  "namespace: 'orders',": "namespace: 'orders', key: (event: any) => event.data.order.id + '-eur',",
}

const OF_NO_ACCOUNT = { "keyIn('orders')": "keyIn('orders', null)" }

/** The line of the snippet, and what a row of the table says instead. */
const ASKING = "(event, { keyIn }) => oldStore.isHandled(keyIn('orders'))"
const TABLE = readPage('docs/moving.md').split('| from | to |')[1] ?? ''
function asRow(from: string): Readonly<Record<string, string>> {
  const row = TABLE.split('\n').find((line) => line.startsWith(`| ${from}`)) ?? ''
  const [, code = ''] = /\| `+([^|]+?)`+ \|$/.exec(row) ?? []
  return { [ASKING]: code }
}

/** The old version is drained before the new one gets its first delivery. */
const WITH_A_PAUSE: Readonly<Record<string, Move>> = {
  'from a receiver by hand': { from: 'byHand', to: ASKING_FOR_EFFECTS },
  'from Redis to Postgres': { from: 'redis', to: ASKING_FOR_RECORDS },
  'to another namespace': {
    from: 'postgres',
    to: ASKING_FOR_RECORDS,
    changes: { ...asRow('the namespace'), ...NEW_NAMESPACE },
  },
  'to accounts': {
    from: 'postgres',
    to: ASKING_FOR_RECORDS,
    changes: { ...asRow('one namespace'), ...OF_ACME },
  },
  'to another key': {
    from: 'postgres',
    to: ASKING_FOR_RECORDS,
    changes: { ...asRow('the `key` function'), ...NEW_KEY },
  },
}

/** Both versions serve at the same time. */
const ROLLING: Readonly<Record<string, Move>> = {
  'from a receiver by hand': { from: 'byHand', to: INSERTING },
  'from Redis to an inbox': { from: 'redis', to: CLAIMING },
  'to another namespace': { from: 'postgres', to: CLAIMING, changes: { ...FROM_POSTGRES, ...NEW_NAMESPACE } },
  'to accounts': {
    from: 'postgres',
    to: CLAIMING,
    changes: { ...FROM_POSTGRES, ...OF_ACME, ...OF_NO_ACCOUNT },
  },
}

const MOVES: readonly Move[] = [...Object.values(WITH_A_PAUSE), ...Object.values(ROLLING)]

/** The page has the shortest one, and links the others. */
const FILES = ['from-effects', 'without-a-pause', 'from-a-table'].map((name) => `examples/moving/${name}.ts`)
const SNIPPETS = [...snippetsOf('docs/moving.md', 'ts'), ...FILES.map(readPage)]

/** The new version of a move. */
function newVersion({ to, changes = {} }: Move): string {
  const [code, ...more] = SNIPPETS.filter((one) => one.includes(to))
  if (code === undefined || more.length > 0) throw new Error(`Not one snippet contains ${to}`)
  return Object.entries(changes).reduce((text, [from, by]) => {
    if (!text.includes(from)) throw new Error(`The snippet with ${to} does not contain ${from}`)
    return text.replaceAll(from, by)
  }, code)
}

/** The sender's pause between two attempts. */
const BACK_OFF_MS = 10

type Version = 'old' | 'new'

/** A receiver of the package as the snippets export it. */
interface Receiver {
  (request: Request): Promise<Response>
  drain(): Promise<unknown>
}

interface Order extends SignedDelivery {
  readonly id: string
}

/** Every second insertion of the tickets of an order whose id says so fails. */
function newOrders(count: number, { from }: Move): Promise<Order[]> {
  return Promise.all(
    Array.from({ length: count }, async (_, index) => {
      // A receiver by hand loses the orders that it marks and fails to handle, as before.
      const fails = from !== 'byHand' && index % 2 === 0
      const id = `ord_${fails ? 'failing' : ''}${randomUUID()}`
      return { id, ...(await sign(orderCreated({ id }))) }
    }),
  )
}

onPostgres('the moves of docs/moving.md', () => {
  onRedis('with deliveries in flight, of which some go to the old version,', () => {
    const database = testDatabase(
      'CREATE TABLE tickets (order_id text)',
      'CREATE TABLE processed_events (id text PRIMARY KEY)',
      // A sequence counts on when its transaction is rolled back.
      'CREATE SEQUENCE insertions',
      `CREATE FUNCTION be_slow_and_fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
         PERFORM pg_sleep(0.01 + random() * 0.04);
         IF NEW.order_id LIKE '%failing%' AND nextval('insertions') % 2 = 0 THEN RAISE 'told to fail'; END IF;
         RETURN NEW;
       END $$`,
      'CREATE TRIGGER slow BEFORE INSERT ON tickets FOR EACH ROW EXECUTE FUNCTION be_slow_and_fail()',
    )
    let pool: Pool
    let redis: Redis
    let versions: ReadonlyMap<Move, Readonly<Record<Version, Receiver>>>

    const issue = async (id: string): Promise<void> =>
      void (await pool.query('INSERT INTO tickets (order_id) VALUES ($1)', [id]))

    const withStore = (store: IdempotencyStore): Receiver =>
      tixWebhooks({
        secret: SECRET,
        store,
        namespace: 'orders',
        on: { 'order.created': ({ data }) => issue(data.order.id) },
        onError() {},
      })

    const old: Readonly<Record<Move['from'], () => Receiver | Promise<Receiver>>> = {
      byHand: () =>
        byHand(
          legacyReceiver({
            secret: SECRET,
            async mark(id) {
              const insert = 'INSERT INTO processed_events (id) VALUES ($1) ON CONFLICT DO NOTHING'
              return (await pool.query(insert, [id])).rowCount === 1
            },
            issueTickets: issue,
          }),
        ),
      redis: () => withStore(redisStore(redis)),
      postgres: () => withStore(postgresStore(pool)),
    }

    beforeAll(async () => {
      const settings = { ...postgresVariables(), PGOPTIONS: database.settings() }
      for (const [name, value] of Object.entries({
        ...settings,
        TIX_SIGNING_SECRET: SECRET,
        REDIS_URL: redisUrl(),
      })) {
        vi.stubEnv(name, value)
      }
      // The reports of the recipes.
      vi.spyOn(console, 'error').mockImplementation(() => {})
      pool = new Pool({ max: 6 }).on('error', () => {})
      redis = new Redis(redisUrl()).on('error', () => {})
      await postgresStore(pool).migrate()
      // The part of the reader's app that the snippets use.
      vi.stubGlobal('handleOrder', (event: OrderCreatedEvent) => issue(event.data.order.id))
      const { write, remove } = snippetsFolder()
      const opened: [Move, Record<Version, Receiver>][] = []
      for (const [index, move] of MOVES.entries()) {
        const { POST } = await import(write(`new-${index}`, newVersion(move)))
        opened.push([move, { old: await old[move.from](), new: POST }])
      }
      versions = new Map(opened)
      return async () => {
        remove()
        redis.disconnect()
        await pool.end()
      }
    })

    interface End {
      readonly by: Version
      /** Empty by a receiver by hand. */
      readonly outcome: string
    }

    const receiverOf = (move: Move, version: Version): Receiver =>
      (versions.get(move) as Record<Version, Receiver>)[version]

    /** Delivers until it is acknowledged, by the version that serves at each attempt. */
    async function deliver(move: Move, { header, body }: Order, serving: () => Version): Promise<End> {
      for (const endMs = performance.now() + WAIT_LIMIT_MS; performance.now() < endMs; ) {
        const by = serving()
        const response = await receiverOf(move, by)(requestOf({ header, body }))
        const text = await response.text()
        if (response.status === 200) return { by, outcome: text === '' ? '' : JSON.parse(text).outcome }
        if (response.status < 500) throw new Error(`${response.status} ${text}`)
        await setTimeout(BACK_OFF_MS)
      }
      throw new Error(`It was not acknowledged within ${WAIT_LIMIT_MS / 1000} s`)
    }

    const toAll = (move: Move, orders: readonly Order[], serving: () => Version): Promise<End[]> =>
      Promise.all(orders.map((order) => deliver(move, order, serving)))

    const drainOld = (move: Move): Promise<unknown> => receiverOf(move, 'old').drain()

    /** How many tickets each order has. */
    async function effects(orders: readonly Order[]): Promise<number[]> {
      const sql =
        'SELECT count(tickets) FROM unnest($1::text[]) id LEFT JOIN tickets ON order_id = id GROUP BY id'
      const counts = await database.column(sql, [orders.map(({ id }) => id)])
      return counts.map(Number)
    }

    const oneEach = (orders: readonly Order[]): number[] => orders.map(() => 1)

    test.concurrent.each(Object.entries(WITH_A_PAUSE))(
      'have each effect once with a pause: %s',
      async (_, move) => {
        const handled = await newOrders(3, move)
        await toAll(move, handled, () => 'old')
        const late = await newOrders(6, move)
        let serving: Version = 'old'
        const send = (order: Order): Promise<End> => deliver(move, order, () => serving)
        const running = [...late, ...late].map(send)
        await Promise.race(running)
        const draining = drainOld(move)
        const meanwhile = await newOrders(3, move)
        const refused = [...meanwhile, ...late].map(send)
        await draining
        serving = 'new'
        const ends = [await Promise.all(running), await Promise.all(refused)].flat()
        expect(new Set(ends.map(({ by }) => by))).toEqual(new Set(['old', 'new']))
        const orders = [...handled, ...late, ...meanwhile]
        await toAll(move, orders, () => 'new')
        expect(await effects(orders)).toEqual(oneEach(orders))
      },
    )

    test.concurrent.each(Object.entries(ROLLING))(
      'have each effect once without a pause: %s',
      async (_, move) => {
        const random = seeded(26)
        const either = (): Version => (random() < 0.5 ? 'old' : 'new')
        const handled = await newOrders(3, move)
        await toAll(move, handled, () => 'old')
        const orders = [...handled, ...(await newOrders(6, move))]
        const ends = await toAll(move, [...orders, ...orders, ...orders], either)
        expect(new Set(ends.map(({ by }) => by))).toEqual(new Set(['old', 'new']))
        await drainOld(move)
        const again = await toAll(move, orders, () => 'new')
        expect(again.map(({ outcome }) => outcome)).not.toContain('handled')
        expect(await effects(orders)).toEqual(oneEach(orders))
      },
    )
  })
})

/** A receiver that cannot drain: it takes no more requests, and has ended when its last one is answered. */
async function byHand(listener: RequestListener): Promise<Receiver> {
  const { url } = await listen(listener)
  const running = new Set<Promise<Response>>()
  let isOpen = true
  const receive = async (request: Request): Promise<Response> => {
    if (!isOpen) return new Response(null, { status: 503 })
    const answer = fetch(url, { method: 'POST', headers: request.headers, body: await request.arrayBuffer() })
    running.add(answer)
    return answer.finally(() => running.delete(answer))
  }
  const drain = (): Promise<unknown> => {
    isOpen = false
    return Promise.allSettled(running)
  }
  return Object.assign(receive, { drain })
}
