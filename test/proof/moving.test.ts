import { type ChildProcess, fork } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { dirname, join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { bundle } from '../support/bundle.js'
import { snippetsFolder } from '../support/compile.js'
import { orderCreated, SECRET, type SignedDelivery, sign } from '../support/deliveries.js'
import { MOVES, type Move, newVersion, pathOf, ROLLING, WITH_A_PAUSE } from '../support/moves.js'
import { onPostgres, onRedis, postgresVariables, redisUrl } from '../support/on-servers.js'
import { testDatabase } from '../support/postgres-database.js'
import { ROOT } from '../support/root.js'
import { seeded } from '../support/storm.js'

// A loaded machine is many times slower than an idle one.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

/** The sender's pause between two attempts, and how often it retries before a test gives up. */
const BACK_OFF_MS = 10
const TRIES = 2_000

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
  onRedis('with deliveries in flight, on two processes of which one is still the old version,', () => {
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
    const children: ChildProcess[] = []
    let ports: { readonly old: number; readonly new: number }

    beforeAll(async () => {
      const { write, remove } = snippetsFolder()
      const imports = MOVES.map((move, index) => {
        write(`new-${index}`, newVersion(move))
        return `import { POST as post${index} } from './new-${index}.js'`
      })
      const routes = MOVES.map((move, index) => `'${pathOf(move)}': routeOf(post${index})`)
      const entry = write(
        'new',
        `import { routeOf, serveRoutes } from '../support/apps/moving.js'
         ${imports.join('\n')}
         serveRoutes({ ${routes.join(', ')} })`,
      )
      const outdir = dirname(entry)
      await bundle(outdir, { new: entry, old: join(ROOT, 'test/support/apps/moving-old.ts') })
      const env = {
        PATH: process.env.PATH,
        TIX_SIGNING_SECRET: SECRET,
        REDIS_URL: redisUrl(),
        ...postgresVariables(),
        PGOPTIONS: database.settings(),
      }
      const start = async (name: string): Promise<number> => {
        const args = [JSON.stringify(MOVES.map((move) => [pathOf(move), move.from]))]
        const child = fork(join(outdir, `${name}.mjs`), args, {
          env,
          stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
        })
        children.push(child)
        let stderr = ''
        child.stderr?.on('data', (chunk) => {
          stderr += chunk
        })
        const ended = once(child, 'exit').then(([code]) =>
          Promise.reject(new Error(`${name} ended with ${code}: ${stderr}`)),
        )
        const [{ port }] = (await Promise.race([once(child, 'message'), ended])) as [{ port: number }]
        ended.catch(() => {})
        return port
      }
      // The tables are made by whichever is first, and the old version is.
      const first = await start('old')
      ports = { old: first, new: await start('new') }
      return remove
    })

    afterAll(() => {
      for (const child of children) child.kill('SIGKILL')
    })

    type Version = 'old' | 'new'

    interface End {
      readonly by: Version
      /** Empty by a receiver by hand. */
      readonly outcome: string
    }

    /** Delivers until it is acknowledged, by the version that serves at each attempt. */
    async function deliver(move: Move, { header, body }: Order, serving: () => Version): Promise<End> {
      for (let tries = 0; tries < TRIES; tries++) {
        const by = serving()
        const response = await fetch(`http://127.0.0.1:${ports[by]}/${pathOf(move)}/hooks`, {
          method: 'POST',
          headers: { 'x-service-signature': header },
          body: new Uint8Array(body),
        })
        const text = await response.text()
        if (response.status === 200) return { by, outcome: text === '' ? '' : JSON.parse(text).outcome }
        if (response.status < 500) throw new Error(`${response.status} ${text}`)
        await setTimeout(BACK_OFF_MS)
      }
      throw new Error(`It was not acknowledged in ${TRIES} attempts`)
    }

    const toAll = (move: Move, orders: readonly Order[], serving: () => Version): Promise<End[]> =>
      Promise.all(orders.map((order) => deliver(move, order, serving)))

    const drainOld = (move: Move): Promise<unknown> =>
      fetch(`http://127.0.0.1:${ports.old}/${pathOf(move)}/drain`)

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
