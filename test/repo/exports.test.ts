import { existsSync, readdirSync, readFileSync } from 'node:fs'
import * as core from 'tix-webhooks'
import ts from 'typescript'
import { beforeAll, describe, expect, test } from 'vitest'
import { apiReports } from '../../build/api.js'
import { ENTRIES } from '../../build/entries.js'
import packageJson from '../../package.json' with { type: 'json' }
import * as internal from '../../src/internal.js'
import { problemsOf, snippetsOf } from '../support/compile.js'
import { build } from '../support/packed.js'
import { PAGES } from '../support/pages.js'
import { ROOT } from '../support/root.js'
import { importsOf, modulesIn } from '../support/source.js'

describe('the package', () => {
  test('has a subpath for the receiver, for its telemetry, and for each adapter and store', () => {
    const expected = ['adapters', 'stores'].flatMap((room) =>
      readdirSync(`${ROOT}${room}`).flatMap((file) => (file.endsWith('.ts') ? [`${room}/${file}`] : [])),
    )
    expected.push('src/index.ts', 'telemetry/opentelemetry.ts')
    const sources = Object.values(ENTRIES).filter((source) => !source.startsWith('testing/'))
    expect(sources.sort()).toEqual(expected.sort())
  })

  test('has for each a build for ESM and for CJS, and types for resolvers that do not know exports', () => {
    const built = Object.keys(ENTRIES).map((name) => [
      name === 'index' ? '.' : `./${name}`,
      {
        import: { types: `./dist/${name}.d.ts`, default: `./dist/${name}.js` },
        require: { types: `./dist/${name}.d.cts`, default: `./dist/${name}.cjs` },
      },
    ])
    const { './package.json': _, ...exported } = packageJson.exports
    expect(exported).toEqual(Object.fromEntries(built))
    const declared = Object.keys(ENTRIES).filter((name) => name !== 'index')
    expect(packageJson.typesVersions['*']).toEqual(
      Object.fromEntries(declared.map((name) => [name, [`./dist/${name}.d.cts`]])),
    )
  })

  test('names each of them in docs/reference.md', () => {
    const names = Object.keys(ENTRIES).map((name) =>
      name === 'index' ? 'tix-webhooks' : `tix-webhooks/${name}`,
    )
    const rows = readFileSync(`${ROOT}docs/reference.md`, 'utf8').match(/^\| `tix-webhooks[^|]*/gm) ?? []
    expect(rows.flatMap((row) => row.match(/(?<=`)[^` ]+(?=`)/g))).toEqual(names)
  })

  test('has an optional peer for each framework, each client, fast-check and OpenTelemetry, and no dependency', () => {
    const frameworks = ['express', '@types/express', 'fastify', 'hono']
    const clients = [
      '@upstash/redis',
      'ioredis',
      'redis',
      'pg',
      'postgres',
      'mysql2',
      'mariadb',
      'better-sqlite3',
    ]
    const peers = Object.keys(packageJson.peerDependencies)
    expect([...peers].sort()).toEqual([...frameworks, ...clients, 'fast-check', '@opentelemetry/api'].sort())
    expect(packageJson.peerDependenciesMeta).toEqual(
      Object.fromEntries(peers.map((name) => [name, { optional: true }])),
    )
    expect(packageJson).not.toHaveProperty('dependencies')
    expect(packageJson).not.toHaveProperty('optionalDependencies')
  })
})

/** Whether a package has declarations of its own. */
function isTyped(name: string): boolean {
  const manifest = readFileSync(`${ROOT}node_modules/${name}/package.json`, 'utf8')
  return /"(types|typings)"|\.d\.[cm]?ts"/.test(manifest)
}

test('a package whose types are imported is a peer, or has its types in one: else they are `any` under pnpm and Yarn', () => {
  const missing = ['src', 'adapters', 'stores', 'telemetry', 'testing'].flatMap((folder) =>
    modulesIn(folder).flatMap((name) =>
      importsOf(`${folder}/${name}.ts`)
        .map(({ specifier }) => /^(@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? '')
        .filter((one) => !/^(\.|node:|tix-webhooks$)/.test(one))
        .map((one) => (isTyped(one) ? one : `@types/${one}`))
        .filter((one) => !(one in packageJson.peerDependencies)),
    ),
  )
  expect(missing).toEqual([])
})

describe('the public types, as api/ has them', () => {
  const HOW =
    'The public types are not those of api/. If the change is meant: npm run api, and a line in CHANGELOG.md.'
  // sandbox.md is of the one entry of the second package.
  const FILES = [...Object.keys(ENTRIES).map((name) => `${name.replace('/', '-')}.md`), 'sandbox.md']

  let reports: ReadonlyMap<string, string>
  beforeAll(() => {
    build()
    reports = apiReports()
  })

  test('are those of each entry, and no other', () => {
    expect(readdirSync(`${ROOT}api`).sort(), HOW).toEqual([...FILES].sort())
  })

  test.each(FILES)('are what the build declares: %s', (file) => {
    const committed = existsSync(`${ROOT}api/${file}`) ? readFileSync(`${ROOT}api/${file}`, 'utf8') : ''
    expect(reports.get(file), HOW).toBe(committed)
  })
})

/** The code around the examples of a file. Examples that import anything are complete. */
const SURROUNDINGS: Record<string, string> = {
  'src/index.ts': "import { tixWebhooks } from 'tix-webhooks/fetch'",
  'adapters/node.ts': "import { streamBody } from 'tix-webhooks/node'",
  'adapters/fetch.ts': "import { requestBody, toResponse } from 'tix-webhooks/fetch'",
  'stores/redis.ts': "import { Redis } from 'ioredis'\nimport { redisStore } from 'tix-webhooks/redis'",
  'stores/postgres.ts':
    "import { Pool } from 'pg'\nimport { postgresInbox, postgresStore } from 'tix-webhooks/postgres'",
  'stores/sqlite.ts':
    "import Database from 'better-sqlite3'\nimport { sqliteInbox, sqliteStore } from 'tix-webhooks/sqlite'",
  'telemetry/opentelemetry.ts': [
    "import { tixWebhooks } from 'tix-webhooks/express'",
    "import { instrument } from 'tix-webhooks/opentelemetry'",
    "declare const app: import('express').Express",
  ].join('\n'),
  'stores/d1.ts':
    "import { type D1Database, d1Store } from 'tix-webhooks/d1'\ndeclare const env: { DB: D1Database }",
  'stores/durable-object.ts':
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

/** The reader's own module, whose client Prisma generates. */
const PRISMA = `
interface Tx { readonly order: { create(args: object): Promise<unknown> } }
export declare const prisma: { $transaction<R>(work: (tx: Tx) => Promise<R>): Promise<R> }
`

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

/** The contents of the docblock of a public function or class. */
interface Documented {
  readonly file: string
  readonly name: string
  readonly summary: string
  readonly examples: number
  /** The code of the examples in a fenced block of TypeScript. */
  readonly code: readonly string[]
}

/** The docblocks of all functions and classes that the entries export, wherever they are declared. */
function docblocksOf(entries: readonly string[]): Documented[] {
  // Only declarations are compiled: no library, no types of other packages.
  const program = ts.createProgram(
    entries.map((entry) => `${ROOT}${entry}`),
    { noLib: true, types: [], module: ts.ModuleKind.NodeNext },
  )
  const checker = program.getTypeChecker()
  return entries.flatMap((entry) => {
    const source = program.getSourceFile(`${ROOT}${entry}`)
    const module = source && checker.getSymbolAtLocation(source)
    if (module === undefined) throw new Error(`${entry} is no module`)
    return checker.getExportsOfModule(module).flatMap((exported) => {
      const isAlias = (exported.flags & ts.SymbolFlags.Alias) !== 0
      const symbol = isAlias ? checker.getAliasedSymbol(exported) : exported
      if ((symbol.flags & (ts.SymbolFlags.Function | ts.SymbolFlags.Class)) === 0) return []
      const examples = symbol.getJsDocTags(checker).filter(({ name }) => name === 'example')
      const codeOf = ({ text }: ts.JSDocTagInfo): string[] =>
        /^```ts\n([\s\S]+)\n```$/.exec(ts.displayPartsToString(text))?.slice(1) ?? []
      return {
        file: entry,
        name: exported.name,
        summary: ts.displayPartsToString(symbol.getDocumentationComment(checker)),
        examples: examples.length,
        code: examples.flatMap(codeOf),
      }
    })
  })
}

/** Exports that need no example: an error is caught like its base class, and guards are all used alike. */
const isWithoutExample = (name: string): boolean =>
  name === 'isWebhookError' || (name !== 'WebhookError' && name.endsWith('Error'))

describe('a public function or class', () => {
  let documented: readonly Documented[]
  beforeAll(() => {
    documented = docblocksOf(Object.values(ENTRIES))
  })

  test('is not one that our own rooms share', () => {
    const shared = Object.keys(internal)
    expect(shared).toContain('checkOptionNames')
    expect(documented.filter(({ name }) => shared.includes(name))).toEqual([])
  })

  test('has a docblock that says what it does, and an example that can be pasted', () => {
    expect(documented.length).toBeGreaterThan(40)
    expect(documented.filter(({ summary }) => summary === '')).toEqual([])
    const bare = documented.filter(({ name, examples }) => examples === 0 && !isWithoutExample(name))
    expect(bare).toEqual([])
    expect(documented.filter(({ examples, code }) => examples !== code.length)).toEqual([])
  })
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
  expect(problemsOf({ ...Object.fromEntries(all), prisma: PRISMA })).toEqual([])
})
