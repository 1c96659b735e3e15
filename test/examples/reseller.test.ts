import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { Pool } from 'pg'
import type { EventKind } from 'tix-webhooks'
import { deliverWithRetries, type SignedDelivery, signedDelivery } from 'tix-webhooks/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { bundle, KEEPS_CONNECTIONS } from '../support/bundle.js'
import { snippetsFolder } from '../support/compile.js'
import { eventually } from '../support/eventually.js'
import { freePort } from '../support/free-port.js'
import { type Listening, listen } from '../support/http.js'
import { onPostgres, postgresUrl } from '../support/on-servers.js'
import { ROOT } from '../support/root.js'
import { seeded } from '../support/storm.js'

/** The example of a reseller, on a database of its own: Graphile Worker has one schema in each. */
interface Reseller {
  readonly pool: Pool
  /** A process of the service, which is not started yet. */
  instance(): Promise<Instance>
  close(): Promise<void>
}

/** A process of the service, on one port. When it ends unasked it is started again, as a platform does. */
interface Instance {
  readonly url: string
  /** From when it is ready until it has ended. */
  readonly isUp: boolean
  /** Starts it, and waits until it is ready. */
  start(): Promise<void>
  /** Signals it, and waits for its end: its exit code, or the signal that ended it. */
  end(signal: NodeJS.Signals): Promise<number | NodeJS.Signals>
  /** The output of each end that was not asked for. */
  readonly crashes: readonly string[]
}

/** Bundles the example and creates its tables. */
async function openReseller(env: Readonly<Record<string, string>>): Promise<Reseller> {
  const { write, remove } = snippetsFolder()
  const before = write('before', KEEPS_CONNECTIONS)
  const outdir = dirname(before)
  const programs = ['migrate', 'service'].map((name) => join(ROOT, `examples/reseller/${name}.ts`))
  await bundle(outdir, [before, ...programs], { entryNames: '[name]' })
  const name = `tix_reseller_${randomBytes(6).toString('hex')}`
  const server = new Pool({ connectionString: postgresUrl(), max: 1 })
  await server.query(`CREATE DATABASE ${name}`)
  const url = new URL(postgresUrl())
  url.pathname = `/${name}`
  const settings = { PATH: process.env.PATH, DATABASE_URL: url.href, ...env }
  const launch = (program: string, more = {}): ChildProcess =>
    spawn(process.execPath, ['--import', join(outdir, 'before.mjs'), join(outdir, `${program}.mjs`)], {
      env: { ...settings, ...more },
      stdio: ['ignore', 'pipe', 'pipe'],
    })

  const migrating = launch('migrate')
  const printed = outputOf(migrating)
  const [code] = await once(migrating, 'close')
  if (code !== 0) throw new Error(`migrate.ts ended with ${code}: ${printed()}`)

  const instances: Instance[] = []
  const pool = new Pool({ connectionString: url.href, max: 1 }).on('error', () => {})
  return {
    pool,
    async instance() {
      const PORT = String(await freePort())
      const instance = instanceOf(`http://127.0.0.1:${PORT}`, () => launch('service', { PORT }))
      instances.push(instance)
      return instance
    },
    async close() {
      await Promise.allSettled(instances.map((instance) => instance.end('SIGKILL')))
      await pool.end()
      await server.query(`DROP DATABASE ${name} WITH (FORCE)`)
      await server.end()
      remove()
    },
  }
}

function instanceOf(url: string, launch: () => ChildProcess): Instance {
  const crashes: string[] = []
  let isUp = false
  let isAsked = false
  let child: ChildProcess | undefined
  let starting: Promise<void> | undefined

  async function begin(): Promise<void> {
    const started = launch()
    const printed = outputOf(started)
    child = started
    started.once('close', () => {
      isUp = false
      if (isAsked) return
      crashes.push(printed())
      starting = begin()
    })
    const isReady = async () => {
      if (started.exitCode === null && !(await fetch(`${url}/ready`)).ok) throw new Error('It is not ready')
    }
    await eventually(isReady)
    isUp = started.exitCode === null
  }

  return {
    url,
    crashes,
    get isUp() {
      return isUp
    },
    start() {
      isAsked = false
      starting = begin()
      return starting
    },
    async end(signal) {
      await starting
      isAsked = true
      if (child === undefined) throw new Error('It was never started')
      const exited = once(child, 'close')
      if (!child.kill(signal)) return child.exitCode ?? (child.signalCode as NodeJS.Signals)
      const [code, name] = await exited
      return code ?? name
    },
  }
}

function outputOf(child: ChildProcess): () => string {
  let text = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk) => {
      text += chunk
    })
  }
  return () => text
}

const SECRETS = { acme: 'whsec_test_acme', globex: 'whsec_test_globex' }

/** Orders of each account in a batch. Something ends in the middle of each batch. */
const BATCH = 25
/** Deliveries at the same time. */
const LANES = 16
/** A second of the service, in milliseconds. */
const SECOND_MS = 5
/** The retries of the sender, in its own seconds: many, because something is always down. */
const SCHEDULE = Array.from({ length: 500 }, (_, i) => 30 * (i + 1))

/** Changes of shows, which have the same ids in both accounts. The states are expected in the end. */
const SHOWS: readonly [account: keyof typeof SECRETS, id: string, state: EventKind, at: string][] = [
  ['acme', 'evt_1', 'event.published', '2026-05-17T14:00:00Z'],
  ['acme', 'evt_1', 'event.cancelled', '2026-05-17T14:02:00Z'],
  ['acme', 'evt_1', 'event.rescheduled', '2026-05-17T14:01:00Z'],
  ['acme', 'evt_2', 'event.cancelled', '2026-05-17T14:03:00Z'],
  ['acme', 'evt_2', 'event.rescheduled', '2026-05-17T14:03:00Z'],
  ['globex', 'evt_1', 'event.rescheduled', '2026-05-17T13:01:00Z'],
  ['globex', 'evt_1', 'event.published', '2026-05-17T13:00:00Z'],
]
const STATES = [
  { account: 'acme', id: 'evt_1', state: 'event.cancelled' },
  { account: 'acme', id: 'evt_2', state: 'event.cancelled' },
  { account: 'globex', id: 'evt_1', state: 'event.rescheduled' },
]

/** A delivery to an account. */
interface Order {
  readonly account: string
  readonly delivery: SignedDelivery
}

const sorted = (list: readonly object[]): string[] => list.map((row) => JSON.stringify(row)).sort()

onPostgres('examples/reseller/', () => {
  const random = seeded(20_261_123)
  const upTo = (count: number): number => Math.floor(random() * count)
  /** The bodies that the collector of spans got. */
  let spans = ''
  /** Deliveries that are done, and what waits for a number of them. */
  let answered = 0
  let toAnswer = { count: 0, resolve(): void {} }
  let collector: Listening
  let reseller: Reseller
  let both: readonly [Instance, Instance]

  beforeAll(async () => {
    collector = await listen((request, response) => {
      request.on('data', (chunk) => {
        spans += chunk
      })
      request.on('end', () => response.end('{}'))
    })
    reseller = await openReseller({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, GRACE_SECONDS: '0.5' })
    for (const [id, secret] of Object.entries(SECRETS))
      await rows('INSERT INTO accounts VALUES ($1, $2)', [id, [secret]])
    // A handler takes up to 0.1 s, so that a kill finds it at work. And the jobs that were ever added are counted.
    await reseller.pool.query(`
      CREATE FUNCTION take_time() RETURNS trigger AS 'BEGIN PERFORM pg_sleep(random() / 10); RETURN NEW; END' LANGUAGE plpgsql;
      CREATE TRIGGER take_time BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION take_time();
      CREATE TABLE added (job json);
      CREATE FUNCTION count_job() RETURNS trigger AS 'BEGIN INSERT INTO added VALUES (NEW.payload); RETURN NEW; END' LANGUAGE plpgsql;
      CREATE TRIGGER count_job AFTER INSERT ON graphile_worker._private_jobs FOR EACH ROW EXECUTE FUNCTION count_job()`)
    both = await Promise.all([reseller.instance(), reseller.instance()])
    await Promise.all(both.map((instance) => instance.start()))
  })
  afterAll(async () => {
    await reseller?.close()
    await collector?.close()
  })

  const rows = async (sql: string, parameters: unknown[] = []) =>
    (await reseller.pool.query(sql, parameters)).rows

  /** An order of each account with the same id: neither may pass for the other's. */
  const ordersOf = (id: string): Promise<Order[]> =>
    Promise.all(
      Object.entries(SECRETS).map(async ([account, secret], index) => {
        const order = { id, total_cents: 1_000 + index }
        const data = { order, tickets: [{ id: `${id}_a` }, { id: `${id}_b` }] }
        return { account, delivery: await signedDelivery('order.created', { secret, data }) }
      }),
    )

  const changesOfShows = (): Promise<Order[]> =>
    Promise.all(
      SHOWS.map(async ([account, id, kind, at]) => {
        const data = { event: { id } }
        const delivery = await signedDelivery(kind, { secret: SECRETS[account], at, data, exact: true })
        return { account, delivery }
      }),
    )

  const post = ({ url }: Instance, account: string, { headers, body }: SignedDelivery) =>
    fetch(`${url}/hooks/${account}`, { method: 'POST', headers, body })

  /** Delivers as the service does, each time to a process that is up, and returns the last status. */
  async function deliver({ account, delivery }: Order): Promise<number | undefined> {
    let waitSeconds = 0
    const attempts = await deliverWithRetries(
      async (again) => {
        await pause(waitSeconds * SECOND_MS)
        waitSeconds = 5
        await expect.poll(() => both.some(({ isUp }) => isUp)).toBe(true)
        const up = both.filter(({ isUp }) => isUp)
        const answer = await post(up[upTo(up.length)] as Instance, account, again)
        await answer.text()
        waitSeconds = Number(answer.headers.get('retry-after') ?? 5)
        return answer
      },
      delivery,
      { schedule: SCHEDULE },
    )
    answered += 1
    if (answered === toAnswer.count) toAnswer.resolve()
    return attempts.at(-1)?.status
  }

  /** Delivers a batch, each order twice, and lets something happen in the middle. */
  async function during<T>(batch: number, act: () => Promise<T>): Promise<T> {
    const ids = Array.from({ length: BATCH }, (_, i) => `ord_${batch}_${i}`)
    const orders = (await Promise.all(ids.map(ordersOf))).flat()
    const queue = [...orders, ...orders, ...(await changesOfShows())].sort(() => random() - 0.5)
    const acting = new Promise<void>((resolve) => {
      toAnswer = { count: answered + 5 + upTo(orders.length), resolve }
    }).then(act)
    const statuses: unknown[] = []
    async function lane(): Promise<void> {
      for (let next = queue.pop(); next !== undefined; next = queue.pop()) statuses.push(await deliver(next))
    }
    await Promise.all(Array.from({ length: LANES }, lane))
    expect(statuses).toEqual(statuses.map(() => 200))
    return acting
  }

  async function kill(instance: Instance): Promise<void> {
    await instance.end('SIGKILL')
    await instance.start()
  }
  const terminate = () =>
    rows(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
          WHERE datname = current_database() AND pid <> pg_backend_pid()`)

  /** The jobs of killed workers, and those that failed, run now: Graphile Worker waits for hours, and for seconds. */
  async function hurryJobs(): Promise<void> {
    await rows('SELECT graphile_worker.force_unlock_workers(array_agg(locked_by)) FROM graphile_worker.jobs')
    await rows(
      'SELECT graphile_worker.reschedule_jobs(array_agg(id), run_at := now()) FROM graphile_worker.jobs',
    )
  }

  test('refuses a stranger, and an order signed by another account', async () => {
    const [acme, globex] = (await ordersOf('ord_forged')) as [Order, Order]
    const answers = [post(both[0], 'initech', acme.delivery), post(both[0], 'acme', globex.delivery)]
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([401, 401])
  })

  test('does everything once for each account, whatever is killed meanwhile, and ends by itself', async () => {
    const [first, second] = random() < 0.5 ? both : [both[1], both[0]]
    const acts: (() => Promise<unknown>)[] = [
      () => kill(first),
      terminate,
      () => Promise.all(both.map(kill)),
      () => Promise.all([kill(second), terminate()]),
    ]
    for (const [batch, act] of acts.entries()) {
      await during(batch, act)
      await hurryJobs()
    }
    const end = await during(acts.length, () => first.end('SIGTERM'))
    await hurryJobs()
    await expect.poll(() => rows('SELECT * FROM graphile_worker.jobs')).toEqual([])
    const orders = Array.from({ length: BATCH * (acts.length + 1) }, (_, i) => i)
      .map((i) => `ord_${Math.floor(i / BATCH)}_${i % BATCH}`)
      .flatMap((id) => [
        { account: 'acme', id, total_cents: 1_000 },
        { account: 'globex', id, total_cents: 1_001 },
      ])
    const jobs = orders.map(({ account, id }) => ({ account, tickets: [`${id}_a`, `${id}_b`] }))
    const tickets = jobs.flatMap((job) => job.tickets.map((id) => ({ account: job.account, id })))
    expect(sorted(await rows('SELECT * FROM orders'))).toEqual(sorted(orders))
    expect(sorted((await rows('SELECT job FROM added')).map(({ job }) => job))).toEqual(sorted(jobs))
    expect(sorted(await rows('SELECT account, id FROM tickets'))).toEqual(sorted(tickets))
    expect(sorted(await rows('SELECT * FROM shows'))).toEqual(sorted(STATES))

    for (const order of await ordersOf('ord_last')) await deliver(order)
    expect([end, await second.end('SIGTERM')]).toEqual([0, 0])
    // A span is kept for up to five seconds: these are sent because the process ends.
    for (const account of Object.keys(SECRETS)) expect(spans).toContain(`${account}/order.created/ord_last`)
    // Graphile Worker ends its process if it loses a connection while it records the end of a job.
    const crashes = both.flatMap((instance) => instance.crashes)
    expect(crashes.filter((output) => !/graphile-worker.*(completeJobs|failJobs)/.test(output))).toEqual([])
  })
})
