import { setTimeout as pause } from 'node:timers/promises'
import { Pool } from 'pg'
import { postgresInbox } from 'tix-webhooks/postgres'
import { createSandbox } from 'tix-webhooks-sandbox'
import { beforeAll, test, vi } from 'vitest'
import { DRAIN_GRACE_MS, STORE_CALL_MS } from '../../src/durations.js'
import { snippetsOf } from '../support/compile.js'
import { SECRET } from '../support/deliveries.js'
import { isReady, serviceBalancer } from '../support/deploy/balancers.js'
import { type App, appOf, type Instance } from '../support/deploy/instances.js'
import { onPostgres } from '../support/on-servers.js'
import { readPage } from '../support/pages.js'
import { testDatabase } from '../support/postgres-database.js'

// A loaded machine is many times slower than an idle one.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

/** At least so many orders are sent, and more until the deploy is over. */
const ORDERS = 500

/** As many as the sandbox delivers to an endpoint at once. */
const LANES = 4

/** How long after its signal a pod is removed from the Service. */
const REMOVAL_MS = 300

const PAGE = 'docs/production.md'

/** The recipe of the page, with a fifth of its grace. */
function recipe(): string {
  const [code = ''] = snippetsOf(PAGE, 'ts').filter((one) => one.includes("once('SIGTERM'"))
  const faster = code.replace('graceSeconds: 10', 'graceSeconds: 2')
  if (faster === code) throw new Error('The recipe has no grace of 10 s')
  return faster
}

/** The effect of an order is a row, and takes the time of a fast handler. */
const BEFORE = `
  globalThis.handleOrder = async (event, { tx }) => {
    await tx.query('INSERT INTO effects VALUES ($1, $2)', [event.data.order.id, process.env.PGAPPNAME])
    await new Promise((resolve) => setTimeout(resolve, 5 + Math.random() * 20))
  }`

/** Sends the signal twice, as some supervisors do. */
function terminate({ child, end }: Instance): Instance['end'] {
  child.kill('SIGTERM')
  setTimeout(() => child.kill('SIGTERM'), 100)
  return end
}

test('the times of the recipe fit into those of the platforms', ({ expect }) => {
  const page = [PAGE, 'examples/deploy/kubernetes.yaml', 'examples/deploy/systemd.service']
    .map(readPage)
    .join('\n')
  const seconds = (before: string): number => {
    const found = page.split(before).slice(1)
    if (found.length !== 1) throw new Error(`${PAGE} has ${before} ${found.length} times`)
    // Of 50_000 ms, the 50.
    return Number.parseInt(found[0] ?? '', 10)
  }
  const limit = seconds('process.exit(1), ')
  const rest = 3 + DRAIN_GRACE_MS / 1000
  expect(seconds('drain({ graceSeconds: ') + seconds('  maxRunSeconds: ') + rest).toBeLessThan(limit)
  expect(limit).toBeLessThan(seconds('terminationGracePeriodSeconds: '))
  expect(limit).toBeLessThan(seconds('TimeoutStopSec='))
  const [probe = ''] = /readinessProbe.*/.exec(page) ?? []
  expect(Number(/timeoutSeconds: (\d+)/.exec(probe)?.[1])).toBeGreaterThan(STORE_CALL_MS / 1000)
})

onPostgres('a rolling restart of two processes', () => {
  let app: App

  beforeAll(async () => {
    app = await appOf(recipe(), BEFORE)
    return app.remove
  })

  const database = testDatabase('CREATE TABLE effects (id text, process text)')

  beforeAll(async () => {
    const pool = new Pool({ connectionString: database.url, options: database.settings(), max: 1 })
    await postgresInbox(pool).migrate()
    await pool.end()
  })

  test('on Kubernetes, whose Service loses a pod only after its signal, refuses no delivery, has each effect once, and leaves no process or connection behind', async ({
    expect,
    onTestFinished,
  }) => {
    const url = new URL(database.url)
    url.searchParams.set('options', database.settings())
    const start = async (name: 'old' | 'new'): Promise<Instance> => {
      const env = {
        DATABASE_URL: url.href,
        PGAPPNAME: `${database.schema} ${name}`,
        TIX_SIGNING_SECRET: SECRET,
      }
      const instance = await app.start(env)
      onTestFinished(() => void instance.child.kill('SIGKILL'))
      while (!(await isReady(instance.port))) await pause(20)
      return instance
    }
    const pods = await Promise.all([start('old'), start('old')])
    const endpoints = new Set(pods.map(({ port }) => port))
    const balancer = await serviceBalancer(endpoints)

    /** Resolves with the ends of the old processes. */
    async function replace(): Promise<unknown[]> {
      const ends: unknown[] = []
      for (const pod of pods) {
        endpoints.add((await start('new')).port)
        ends.push(terminate(pod))
        setTimeout(() => endpoints.delete(pod.port), REMOVAL_MS)
      }
      return Promise.all(ends)
    }

    onTestFinished(() => balancer.close())
    const sandbox = createSandbox({
      frozen: false,
      endpoints: [{ url: `${balancer.url}/hooks`, secret: SECRET, events: ['order.created'] }],
    })
    onTestFinished(() => sandbox.close())

    let isOver = false
    let sent = 0
    const refused: unknown[] = []
    async function lane(): Promise<void> {
      while (!isOver || sent < ORDERS) {
        sent += 1
        const { attempts } = await sandbox.trigger('order.created')
        const [attempt] = attempts
        if (attempt?.response?.status !== 200) refused.push(attempt?.response?.body ?? attempt?.error)
      }
    }
    const sending = Promise.all(Array.from({ length: LANES }, lane))
    const ends = await replace().finally(() => {
      isOver = true
    })
    await sending

    const SAME_NAME = 'SELECT count(*)::int FROM pg_stat_activity WHERE application_name = $1'
    expect({
      refused,
      ends,
      connections: await database.column(SAME_NAME, [`${database.schema} old`]),
      effects: await database.column('SELECT count(*)::int FROM effects'),
      orders: await database.column('SELECT count(DISTINCT id)::int FROM effects'),
      handledBy: await database.column("SELECT DISTINCT split_part(process, ' ', 2) FROM effects ORDER BY 1"),
    }).toEqual({
      refused: [],
      ends: [
        { code: 0, signal: null },
        { code: 0, signal: null },
      ],
      connections: [0],
      effects: [sent],
      orders: [sent],
      handledBy: ['new', 'old'],
    })
  })
})
