import { readFileSync } from 'node:fs'
import * as core from 'tix-webhooks'
import { expect, test } from 'vitest'
import { problemsOf, snippetsOf } from '../support/compile.js'
import { docblocksOf } from '../support/docblocks.js'
import { PAGES } from '../support/pages.js'
import { ROOT } from '../support/root.js'
import { modulesIn } from '../support/source.js'

/** The code around the examples of a file. Examples that import anything are complete. */
const SURROUNDINGS: Record<string, string> = {
  'src/index.ts': "import { tixWebhooks } from 'tix-webhooks/fetch'",
  'src/node.ts': "import { streamBody } from 'tix-webhooks/node'",
  'src/fetch.ts': "import { requestBody, toResponse } from 'tix-webhooks/fetch'",
  'adapters/redis.ts': "import { Redis } from 'ioredis'\nimport { redisStore } from 'tix-webhooks/redis'",
  'adapters/postgres.ts':
    "import { Pool } from 'pg'\nimport { postgresFailures, postgresInbox, postgresStore } from 'tix-webhooks/postgres'",
  'adapters/sqlite.ts':
    "import Database from 'better-sqlite3'\nimport { sqliteFailures, sqliteInbox, sqliteStore } from 'tix-webhooks/sqlite'",
  'adapters/opentelemetry.ts': [
    "import { tixWebhooks } from 'tix-webhooks/express'",
    "import { instrument } from 'tix-webhooks/opentelemetry'",
    "declare const app: import('express').Express",
  ].join('\n'),
  'adapters/d1.ts':
    "import { type D1Database, d1Store } from 'tix-webhooks/d1'\ndeclare const env: { DB: D1Database }",
  'adapters/durable-object.ts':
    "import { type DurableObjectNamespace, durableObjectStore } from 'tix-webhooks/durable-object'\ndeclare const env: { WEBHOOKS: DurableObjectNamespace }",
  'adapters/express.ts':
    "import { tixWebhooks } from 'tix-webhooks/express'\ndeclare const app: import('express').Express",
  'adapters/fastify.ts':
    "import { tixWebhooks } from 'tix-webhooks/fastify'\ndeclare const app: import('fastify').FastifyInstance",
  'adapters/hono.ts': [
    "import type { Context, Hono } from 'hono'",
    "import { tixWebhooks } from 'tix-webhooks/hono'",
    'type AppEnv = { Bindings: { TIX_SIGNING_SECRET: string } }',
    'declare const app: Hono<AppEnv>',
  ].join('\n'),
}

const READER_HAS = `
import { ${Object.keys(core)
  // That of the main entry only says which one to import.
  .filter((name) => name !== 'tixWebhooks')
  .join(', ')} } from 'tix-webhooks'
import type { AnyEvent, Delivery, HeaderValue, OrderCreatedEvent, OrderTicket, Receiver } from 'tix-webhooks'
interface Refund { order_id: string }
declare const secret: string, on: {}, busy: boolean
declare const rawBody: Uint8Array, header: HeaderValue, headers: Record<string, string>
declare const request: Request, ctx: { req: import('node:http').IncomingMessage }
declare const event: OrderCreatedEvent & AnyEvent, receiver: Receiver, delivery: Delivery
declare function issue(tickets: OrderTicket[]): Promise<void>
declare function refund(data: Refund): Promise<void>
`

/** A store's example is about the store: any adapter will do. */
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

/** The examples of the library, as a reader of its docblock would paste them into an app. */
function libraryExamples(): [string, string][] {
  return docblocksOf(Object.keys(SURROUNDINGS)).flatMap(({ file, name, code }) =>
    code.map((example): [string, string] => {
      const surrounded = `${READER_HAS}\n${SURROUNDINGS[file]}\n${tixWebhooksFor(file)}\nexport async function example() {\n${example}\n}\n`
      return [`${file.replace(/\W/g, '-')}-${name}`, example.includes('import ') ? example : surrounded]
    }),
  )
}

/** The examples of a file of the testing kit, including those of types and constants. They are complete. */
function kitExamplesIn(name: string): [string, string][] {
  const text = readFileSync(`${ROOT}testing/${name}.ts`, 'utf8')
  const blocks = [...text.matchAll(/@example\n \* ```ts\n(.*?)\n \* ```/gs)]
  const prefix = `testing-${name.replaceAll('/', '-')}`
  return blocks.map(([, code = ''], index) => [`${prefix}-${index + 1}`, code.replaceAll(/^ \* ?/gm, '')])
}

/** The snippets of the pages. */
function pageSnippets(): [string, string][] {
  return PAGES.flatMap((page) =>
    snippetsOf(page, 'ts').map((code, index): [string, string] => [
      `${page.replaceAll(/\W/g, '-')}-${index + 1}`,
      // Those of CONTRIBUTING.md are for a file in test/support/stores.
      code.replaceAll("'../../../", "'../../"),
    ]),
  )
}

// In one program: most of the time goes into the types that all of them import.
test('every example of a docblock and every snippet of a page compiles as it stands, under strict', () => {
  const library = libraryExamples()
  expect(library.length).toBeGreaterThan(15)
  const kit = modulesIn('testing').flatMap(kitExamplesIn)
  expect(kit.length).toBeGreaterThan(25)
  const pages = pageSnippets()
  expect(pages.length).toBeGreaterThan(30)
  const all = [...library, ...kit, ...pages]
  expect(new Set(all.map(([name]) => name)).size).toBe(all.length)
  expect(problemsOf(Object.fromEntries(all))).toEqual([])
}, 300_000)
