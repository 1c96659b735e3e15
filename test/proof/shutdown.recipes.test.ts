import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { dirname, join } from 'node:path'
import { ddl } from 'tix-webhooks/postgres'
import { beforeAll, expect, test } from 'vitest'
import { DRAIN_GRACE_MS, STORE_CALL_MS } from '../../src/durations.js'
import { bundle, KEEPS_CONNECTIONS, PRINTS_PORT } from '../support/bundle.js'
import { snippetsFolder, snippetsOf } from '../support/compile.js'
import { lifecycleEvent, orderCreated, SECRET, sign } from '../support/deliveries.js'
import { dial, listen, requestHead } from '../support/http.js'
import { testMysqlDatabase } from '../support/mysql-database.js'
import { onMysql, onPostgres, postgresUrl, postgresVariables } from '../support/on-servers.js'
import { readPage } from '../support/pages.js'
import { WAIT_LIMIT_MS } from '../support/patience.js'
import { testDatabase } from '../support/postgres-database.js'
import { deliver, jsonHeaders } from '../support/raw-bytes-harness.js'
import { type RedisServer, startRedis } from '../support/redis-server.js'
import { ROOT } from '../support/root.js'

const SIGNAL = "process.once('SIGTERM'"

/** The recipe whose Redis is stopped before the delivery, so that a command is still waiting when it ends. */
const DOWN = ', while Redis is down'

/** The recipes that other tests run: these import a framework that is not installed here, or need a file beside them. */
const ELSEWHERE = ['elysia', 'nest-express', 'nest-fastify']
  .map((name) => `examples/frameworks/${name}.ts`)
  .concat('examples/reseller/service.ts')

/** The snippets of the README and docs/production.md whose handler is ours. */
const SNIPPETS = ['README.md', 'docs/production.md']

/** Loaded before a recipe: gives the snippets a handler that ends after the signal. */
const BEFORE = `
  ${PRINTS_PORT}
  ${KEEPS_CONNECTIONS}
  const signalled = new Promise((resolve) => process.once('SIGTERM', () => setImmediate(resolve)))
  globalThis.handleOrder = () => {
    console.log('handling')
    return signalled
  }`

/** The lines of the other clients of the recipe of docs/production.md. */
const MYSQL_POOLS = {
  mysql2: {
    imports: "import mysql from 'mysql2/promise'",
    pool: 'mysql.createPool(String(process.env.DATABASE_URL))',
  },
  mariadb: {
    imports: "import * as mariadb from 'mariadb'",
    pool: "mariadb.createPool(String(process.env.DATABASE_URL).replace(/^mysql/, 'mariadb'))",
  },
}

/** Every recipe with a shutdown, by its place: a whole file, or a snippet; and that of docs/production.md with the other clients. */
function recipes(): Record<string, string> {
  const files = readdirSync(`${ROOT}examples`, { recursive: true, encoding: 'utf8' })
    .map((name) => `examples/${name}`)
    .filter((name) => name.endsWith('.ts') && !ELSEWHERE.includes(name))
  const found = Object.fromEntries(files.map((name) => [name, readFileSync(join(ROOT, name), 'utf8')]))
  for (const page of SNIPPETS) {
    const [snippet = '', ...more] = snippetsOf(page, 'ts').filter((code) => code.includes(SIGNAL))
    if (more.length > 0) throw new Error(`${page} has several recipes`)
    found[page] = snippet.replace('listen(3000)', 'listen(0)')
  }
  const page = 'docs/production.md'
  const migrating = 'const inbox = postgresInbox(pool)\nawait inbox.migrate()\nconst hooks'
  const withPg = found[page] ?? ''
  found[page] = withPg.replace('inbox: postgresInbox(pool)', 'inbox').replace('const hooks', migrating)
  found[`${page}, postgres.js`] = found[page]
    .replace("{ Pool } from 'pg'", "postgres from 'postgres'")
    .replace(/const pool = .*\npool\.on.*/, 'const pool = postgres(process.env.DATABASE_URL)')
    .replace('pool.end()', callOf('postgres.js').replace('sql', 'pool'))
  for (const [client, create] of Object.entries(MYSQL_POOLS)) {
    found[`${page}, ${client}`] = (found[page] ?? '')
      .replace("import { Pool } from 'pg'", create.imports)
      .replace(/const pool = .*\npool\.on.*/, `const pool = ${create.pool}`)
      .replace("{ postgresInbox } from 'tix-webhooks/postgres'", "{ mysqlInbox } from 'tix-webhooks/mysql'")
      .replace('postgresInbox(pool)', 'mysqlInbox(pool)')
  }
  const withRedis = withPg
    .replace("{ Pool } from 'pg'", "{ Redis } from 'ioredis'")
    .replace(/const pool = .*\npool\.on/, 'const redis = new Redis(process.env.REDIS_URL)\nredis.on')
    .replace("{ postgresInbox } from 'tix-webhooks/postgres'", "{ redisStore } from 'tix-webhooks/redis'")
    .replace('inbox: postgresInbox(pool)', 'store: redisStore(redis)')
  const withIoredis = withRedis.replace('pool.end()', callOf('ioredis'))
  found[`${page}, ioredis`] = withIoredis
  found[`${page}, ioredis${DOWN}`] = withIoredis
  found[`${page}, node-redis`] = withRedis
    .replace("{ Redis } from 'ioredis'", "{ createClient } from 'redis'")
    .replace(/new Redis\(.*\)/, 'createClient({ url: process.env.REDIS_URL })')
    .replace('const hooks', 'await redis.connect()\nconst hooks')
    .replace('pool.end()', callOf('node-redis 5 or 6'))
  return Object.fromEntries(
    Object.entries(found)
      .filter(([, code]) => code.includes(SIGNAL))
      .map(([name, code]) => [name, code.replace('graceSeconds: 10', 'graceSeconds: 3')]),
  )
}

/** A cell of the table in docs/production.md. */
function callOf(client: string): string {
  const rows = readFileSync(join(ROOT, 'docs/production.md'), 'utf8').split('\n')
  const [, , call = ''] = rows.find((row) => row.startsWith(`| ${client} |`))?.split('|') ?? []
  return /`(.+?)`/.exec(call)?.[1] ?? ''
}

test('the times of the recipe fit into those of the platforms', () => {
  const page = ['docs/production.md', 'examples/deploy/kubernetes.yaml', 'examples/deploy/systemd.service']
    .map(readPage)
    .join('\n')
  const seconds = (before: string): number => {
    const found = page.split(before).slice(1)
    expect(found, before).toHaveLength(1)
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

onPostgres('every recipe with a shutdown', () => {
  onMysql('of every server', () => {
    const RECIPES = recipes()
    const database = testDatabase()
    // One for each, as each has a schema of its own on Postgres.
    const mysqlDatabases = Object.values(RECIPES).map((recipe) =>
      recipe.includes('tix-webhooks/mysql') ? testMysqlDatabase() : undefined,
    )
    let folder = ''

    beforeAll(async () => {
      const { write, remove } = snippetsFolder()
      const names = Object.keys(RECIPES)
      const entries = names.map((name, index) => write(`recipe-${index}`, RECIPES[name] ?? ''))
      const before = write('before', BEFORE)
      const outdir = dirname(before)
      await bundle(outdir, [before, ...entries], { splitting: true })
      for (const [index, name] of names.entries()) {
        const schema = `${database.schema}_${index}`
        await database.query(`CREATE SCHEMA ${schema}`)
        // It makes its tables by a command of its own.
        if (name === 'examples/ledger.ts') {
          const orders = 'CREATE TABLE orders (id text PRIMARY KEY, total_cents integer NOT NULL)'
          await database.query(`BEGIN; SET LOCAL search_path = ${schema}; ${ddl}; ${orders}; COMMIT`)
        }
      }
      folder = outdir
      return remove
    })

    test('ends its process by itself, once the running handler has ended, whatever connections are open', async () => {
      const redis = await startRedis()
      // The collector of an example refuses what it is sent.
      const other = await listen((_, response) => {
        response.statusCode = 400
        response.end('{}')
      })
      const ends = await Promise.all(
        Object.entries(RECIPES).map(async ([name, recipe], index) => {
          const own = name.endsWith(DOWN) ? await startRedis() : undefined
          const options = `-c search_path=${database.schema}_${index}`
          const child = spawn(
            process.execPath,
            ['--import', join(folder, 'before.mjs'), join(folder, `recipe-${index}.mjs`)],
            {
              // It may write a file where it is started.
              cwd: mkdtempSync(join(folder, 'run-')),
              stdio: ['ignore', 'pipe', 'pipe'],
              env: {
                PATH: process.env.PATH,
                PORT: '0',
                TIX_SIGNING_SECRET: SECRET,
                REDIS_URL: (own ?? redis).url,
                ...postgresSettings(options),
                ...(mysqlDatabases[index] && { DATABASE_URL: mysqlDatabases[index].url }),
                OTEL_EXPORTER_OTLP_ENDPOINT: other.url,
                LEDGER_TOKEN: 'x'.repeat(32),
              },
            },
          )
          return [name, await play(child, recipe, own)]
        }),
      )
      await other.close()
      await redis.stop()
      const expected = (name: string) => ({
        answer: name.endsWith(DOWN)
          ? '503 unavailable'
          : name === 'examples/accounts.ts'
            ? '401 unauthenticated' // Its table is empty.
            : '200 handled',
        // A delivery that arrives before the balancer has moved the traffic is handled, and its connection closed.
        ...(hasGrace(RECIPES[name] ?? '') && !name.endsWith(DOWN) && { inGrace: '200 handled, close' }),
        code: 0,
        signal: null,
      })
      expect(Object.fromEntries(ends)).toEqual(
        Object.fromEntries(Object.keys(RECIPES).map((name) => [name, expected(name)])),
      )
    })
  })
})

/** Whether it takes deliveries for a while after the signal, and says that it is not ready. */
const hasGrace = (recipe: string): boolean => recipe.includes('graceSeconds') && recipe.includes('/ready')

/** As a connection string, and as the variables that pg reads without one. */
function postgresSettings(options: string): Record<string, string> {
  const url = new URL(postgresUrl())
  url.searchParams.set('options', options)
  return { ...postgresVariables(), PGOPTIONS: options, DATABASE_URL: url.href }
}

/** Delivers an order, signals the process, and waits for its end; before that it stops a Redis, if one is given. */
async function play(child: ChildProcess, recipe: string, toStop?: RedisServer) {
  const exited = once(child, 'close')
  // So that the test can name what does not end by itself.
  const timer = setTimeout(() => child.kill('SIGKILL'), WAIT_LIMIT_MS)
  let stdout = ''
  let stderr = ''
  child.stderr?.on('data', (chunk) => {
    stderr += chunk
  })
  const printed = (what: RegExp): Promise<string> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        const found = what.exec(stdout)?.[1]
        if (found !== undefined) resolve(found)
      }
      child.stdout?.on('data', look)
      exited.then(() => reject(new Error(`It ended before it printed ${what}: ${stderr}`)))
      look()
    })
  child.stdout?.on('data', (chunk) => {
    stdout += chunk
  })
  const port = Number(await printed(/on port (\d+)/))
  // A client that sends nothing, and holds its connection. Without it the recipe ends three seconds earlier.
  const silent = toStop === undefined ? connect(port, '127.0.0.1') : undefined
  silent?.on('error', () => {})
  if (silent !== undefined) await once(silent, 'connect')
  await toStop?.stop()
  const event = recipe.includes("'order.created'") ? orderCreated() : lifecycleEvent('event.cancelled')
  const path = /'(\/hooks[\w/]*)/.exec(recipe.replace(':shop', 'acme'))?.[1] ?? '/hooks'
  const answering = deliver(port, await sign(event), { path })
  const isSlow = toStop === undefined && recipe.includes('handleOrder')
  await (isSlow ? printed(/(handling)/) : answering)
  child.kill('SIGTERM')
  // Some supervisors send it twice.
  if (recipe.includes('graceSeconds')) setTimeout(() => child.kill('SIGTERM'), 100)
  const inGrace = toStop === undefined && hasGrace(recipe) && (await deliverInGrace(port))
  const { status, text } = await answering
  const [code, signal] = await exited
  clearTimeout(timer)
  silent?.destroy()
  return {
    answer: `${status} ${JSON.parse(text).outcome}`,
    ...(inGrace && { inGrace }),
    code,
    signal,
    ...(code !== 0 && { stderr }),
  }
}

/** Delivers another order, on a connection that the client would keep, once the process says that it is not ready. */
async function deliverInGrace(port: number): Promise<string> {
  const readiness = async () => (await fetch(`http://127.0.0.1:${port}/ready`)).status
  await expect.poll(readiness, { interval: 10 }).toBe(503)
  const { header, body } = await sign(orderCreated())
  const client = await dial(port)
  await client.write(requestHead({ ...jsonHeaders(header), 'content-length': body.length }))
  await client.write(body)
  const { status, headers, text } = await client.answer()
  client.destroy()
  return `${status} ${JSON.parse(text).outcome}, ${headers.connection}`
}
