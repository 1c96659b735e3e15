import { EntitySchema, MikroORM } from '@mikro-orm/postgresql'
import { sql as drizzleSql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/node-postgres'
import express from 'express'
import fastify from 'fastify'
import pino from 'pino'
import { createReceiver, redactError } from 'tix-webhooks'
import { tixWebhooks as onExpress } from 'tix-webhooks/express'
import { tixWebhooks as onFastify } from 'tix-webhooks/fastify'
import { instrument } from 'tix-webhooks/opentelemetry'
import { DataSource } from 'typeorm'
import { expect, onTestFinished, test, vi } from 'vitest'
import { snippetsOf } from '../support/compile.js'
import { orderCreated, SECRET, sign } from '../support/deliveries.js'
import { listenTo } from '../support/fastify.js'
import { listen } from '../support/http.js'
import { onPostgres, onRedis, redisUrl } from '../support/on-servers.js'
import { readPage } from '../support/pages.js'
import { openPg, openPostgresJs } from '../support/postgres-clients.js'
import { testDatabase } from '../support/postgres-database.js'
import { deliver } from '../support/raw-bytes-harness.js'
import { connectIoredis, connectNodeRedis } from '../support/redis-clients.js'
import { telemetry } from '../support/telemetry.js'

const ADDRESS = 'buyer8@example.com'
const TOKEN = 'tok_51HxSecretOfTheApp'
const INSERT = 'INSERT INTO buyers (email, token) VALUES ($1, $2)'
const KEPT =
  /duplicate key value violates unique constraint|Validation error|Failed query: INSERT INTO buyers/

const thrownBy = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => expect.fail('It threw nothing.'),
    (error: unknown) => error,
  )

/** All that is printed when a handler throws this, by each way to log it. */
async function printedOf(thrown: unknown): Promise<Record<string, string>> {
  const printed: Record<string, string> = { express: '', fastify: '', pino: '', opentelemetry: '' }
  const on = {
    'order.created': () => {
      throw thrown
    },
  }
  const options = { secret: SECRET, on }

  vi.spyOn(console, 'error').mockImplementation((...texts) => {
    printed.express += texts.join(' ')
  })
  const app = await listen(express().post('/hooks', onExpress(options)))
  onTestFinished(app.close)

  const stream = (way: string) => ({
    write: (line: string) => {
      printed[way] += line
    },
  })
  const server = fastify({ logger: { level: 'error', stream: stream('fastify') } })
  server.post('/hooks', onFastify(options))
  const delivery = await sign(orderCreated())
  for (const port of [app.port, await listenTo(server)]) {
    expect((await deliver(port, delivery)).status).toBe(500)
  }

  const logger = pino({}, stream('pino'))
  const sdk = telemetry()
  const { receive } = createReceiver(
    instrument(
      {
        ...options,
        onError: (error, { kind, key }) => logger.error({ err: redactError(error), kind, key }, 'webhook'),
        onDelivery: ({ error, ...record }) => logger.info({ ...record, err: redactError(error) }, 'webhook'),
      },
      { tracerProvider: sdk.tracerProvider },
    ),
  )
  await receive({ ...delivery, request: null })
  printed.opentelemetry = JSON.stringify(
    sdk.spans().map(({ attributes, events, status }) => ({ attributes, events, status })),
  )
  return printed
}

async function expectRedacted(thrown: unknown, kept: RegExp): Promise<void> {
  for (const error of [thrown, new Error(`not saved: ${(thrown as Error).message}`, { cause: thrown })]) {
    for (const [way, text] of Object.entries(await printedOf(error))) {
      expect(text, way).not.toMatch(/buyer8|example\.com|tok_|SecretOf/)
      expect(text, way).toMatch(kept)
      expect(text, way).toMatch(/redacted-errors\.test|node_modules/)
    }
  }
}

onPostgres('the bound parameters of', () => {
  const database = testDatabase(
    'CREATE TABLE buyers (email text PRIMARY KEY, token text, seats integer)',
    `INSERT INTO buyers (email) VALUES ('${ADDRESS}')`,
  )
  const url = (): string => {
    const found = new URL(database.url)
    found.searchParams.set('options', database.settings())
    return found.href
  }

  test.each<[string, (parameters: string[]) => Promise<unknown>]>([
    ['pg', (parameters) => openPg(database).query(INSERT, parameters)],
    ['postgres.js', (parameters) => openPostgresJs(database).unsafe(INSERT, parameters)],
    [
      'Drizzle',
      ([email, token]) =>
        drizzle(openPg(database)).execute(
          drizzleSql`INSERT INTO buyers (email, token) VALUES (${email}, ${token})`,
        ),
    ],
    [
      'TypeORM',
      async (parameters) => {
        const dataSource = await new DataSource({ type: 'postgres', url: url() }).initialize()
        onTestFinished(() => dataSource.destroy())
        return dataSource.query(INSERT, parameters)
      },
    ],
    [
      'MikroORM',
      async ([email, token]) => {
        const Buyer = new EntitySchema<{ email: string; token: string }>({
          name: 'Buyer',
          tableName: 'buyers',
          properties: { email: { type: 'text', primary: true }, token: { type: 'text' } },
        })
        const orm = await MikroORM.init({
          clientUrl: url(),
          entities: [Buyer],
          driverOptions: { connection: { options: database.settings() } },
        })
        onTestFinished(() => orm.close())
        return orm.em.fork().insert('Buyer', { email, token })
      },
    ],
  ])('%s stay out of every log', async (_, insert) => {
    const thrown = await thrownBy(insert([ADDRESS, TOKEN]))
    expect(`${Object.values(thrown as object)}${(thrown as Error).message}${JSON.stringify(thrown)}`).toMatch(
      /buyer8/,
    )
    await expectRedacted(thrown, KEPT)
  })

  test('a statement whose value has the wrong type stay out of every log', async () => {
    const pool = openPg(database)
    const query = pool.query('INSERT INTO buyers (email, seats) VALUES ($1, $2)', ['other', TOKEN])
    await expectRedacted(await thrownBy(query), /invalid input syntax for type integer/)
  })
})

onRedis('the arguments of', () => {
  test('a command of ioredis and of node-redis stay out of every log', async () => {
    const io = await connectIoredis(redisUrl())
    const node = await connectNodeRedis(redisUrl())
    for (const call of [
      () => io.call('NOSUCH', ADDRESS, TOKEN),
      () => node.sendCommand(['NOSUCH', ADDRESS, TOKEN]),
    ]) {
      await expectRedacted(await thrownBy(call()), /unknown command/)
    }
    await expectRedacted(await thrownBy(io.call('HSET', ADDRESS, TOKEN)), /wrong number of arguments/)
  })
})

test('each recipe of docs/production.md that logs an error redacts it', () => {
  const recipes = [...snippetsOf('docs/production.md', 'ts'), readPage('examples/prom-client.ts')]
  const logging = recipes.filter((code) => /\berr\b|captureException/.test(code))
  expect(logging).toHaveLength(2)
  for (const code of logging) expect(code).toMatch(/err: redactError\(error\)/)
})
