import { readFileSync } from 'node:fs'
import * as core from 'tix-webhooks'
import { expect, test } from 'vitest'
import { problemsOf } from './support/compile.js'
import { docblocksOf } from './support/docblocks.js'
import { modulesIn, ROOT } from './support/source.js'

/** What the examples of a file have around them. Those that import anything are whole as they stand. */
const SURROUNDINGS: Record<string, string> = {
  'src/index.ts': "import { tixWebhooks } from 'tix-webhooks/fetch'",
  'src/node.ts': "import { streamBody } from 'tix-webhooks/node'",
  'src/fetch.ts': "import { requestBody } from 'tix-webhooks/fetch'",
  'adapters/redis.ts': "import { Redis } from 'ioredis'\nimport { redisStore } from 'tix-webhooks/redis'",
  'adapters/postgres.ts':
    "import { Pool } from 'pg'\nimport { postgresInbox, postgresStore } from 'tix-webhooks/postgres'",
  'adapters/sqlite.ts':
    "import Database from 'better-sqlite3'\nimport { sqliteInbox, sqliteStore } from 'tix-webhooks/sqlite'",
  'adapters/express.ts':
    "import { tixWebhooks } from 'tix-webhooks/express'\ndeclare const app: import('express').Express",
  'adapters/fastify.ts':
    "import { tixWebhooks } from 'tix-webhooks/fastify'\ndeclare const app: import('fastify').FastifyInstance",
  'adapters/hono.ts': [
    "import type { Context, Hono } from 'hono'",
    "import { env } from 'hono/adapter'",
    "import { tixWebhooks } from 'tix-webhooks/hono'",
    'type AppEnv = { Bindings: { TIX_SIGNING_SECRET: string } }',
    'declare const app: Hono<AppEnv>',
  ].join('\n'),
}

const READER_HAS = `
import { ${Object.keys(core).join(', ')} } from 'tix-webhooks'
import type { AnyEvent, Delivery, HeaderValue, OrderCreatedEvent, OrderTicket, Receiver } from 'tix-webhooks'
interface Refund { order_id: string }
declare const secret: string, on: {}, busy: boolean
declare const rawBody: Uint8Array, header: HeaderValue, headers: Record<string, string>
declare const request: Request, ctx: { req: import('node:http').IncomingMessage }
declare const event: OrderCreatedEvent & AnyEvent, receiver: Receiver, delivery: Delivery
declare function issue(tickets: OrderTicket[]): Promise<void>
declare function refund(data: Refund): Promise<void>
`

/** A store's example is about the store: any adapter will do beside it. */
const tixWebhooksFor = (file: string): string =>
  SURROUNDINGS[file]?.includes('tixWebhooks') ? '' : "import { tixWebhooks } from 'tix-webhooks/fetch'"

test('no docblock refers to a document that users do not have', () => {
  const files = ['src', 'adapters', 'testing'].flatMap((folder) =>
    modulesIn(folder).map((name) => `${folder}/${name}.ts`),
  )
  const referring = files.filter((file) =>
    /\bspec(ification)?\s+(\*\s+)?sections?\b/i.test(readFileSync(`${ROOT}${file}`, 'utf8')),
  )
  expect(referring, 'name the rule, or see docs/service.md').toEqual([])
})

test('the example of every docblock compiles', () => {
  const examples = docblocksOf(Object.keys(SURROUNDINGS)).flatMap(({ file, name, code }) =>
    code.map((example): [string, string] => {
      const surrounded = `${READER_HAS}\n${SURROUNDINGS[file]}\n${tixWebhooksFor(file)}\nexport async function example() {\n${example}\n}\n`
      return [`${file.replace(/\W/g, '-')}-${name}`, example.includes('import ') ? example : surrounded]
    }),
  )
  expect(examples.length).toBeGreaterThan(15)
  expect(problemsOf(Object.fromEntries(examples))).toEqual([])
}, 60_000)
