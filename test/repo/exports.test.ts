import { existsSync, readFileSync } from 'node:fs'
import * as core from 'tix-webhooks'
import {
  BodyError,
  ConfigurationError,
  PayloadError,
  RunError,
  StoreError,
  UnavailableError,
  WebhookError,
  WebhookVerificationError,
} from 'tix-webhooks'
import { beforeAll, describe, expect, test } from 'vitest'
import packageJson from '../../package.json' with { type: 'json' }
import * as internal from '../../src/internal.js'
import { type Documented, docblocksOf } from '../support/docblocks.js'
import { ROOT } from '../support/root.js'
import { importsOf, modulesIn } from '../support/source.js'

/** Each subpath and the source file behind it. */
const SUBPATHS = {
  '.': 'src/index.ts',
  './express': 'adapters/express.ts',
  './fastify': 'adapters/fastify.ts',
  './hono': 'adapters/hono.ts',
  './fetch': 'src/fetch.ts',
  './node': 'src/node.ts',
  './redis': 'adapters/redis.ts',
  './postgres': 'adapters/postgres.ts',
  './mysql': 'adapters/mysql.ts',
  './sqlite': 'adapters/sqlite.ts',
  './opentelemetry': 'adapters/opentelemetry.ts',
  './d1': 'adapters/d1.ts',
  './durable-object': 'adapters/durable-object.ts',
  './testing': 'testing/index.ts',
  './testing/fast-check': 'testing/fast-check.ts',
}

const subpaths = Object.entries(SUBPATHS)
const entryName = (subpath: string): string => (subpath === '.' ? 'index' : subpath.slice('./'.length))

const ERRORS = {
  BodyError,
  ConfigurationError,
  PayloadError,
  RunError,
  StoreError,
  UnavailableError,
  WebhookError,
  WebhookVerificationError,
}

/** The exports at run time; all other exports of the main entry are types. */
const PUBLIC = {
  constants: ['EVENT_KINDS'],
  functions: [
    'answerTo',
    'createReceiver',
    'isDiscard',
    'isKind',
    'isKnownEvent',
    'isWebhookError',
    'memoryFailures',
    'memoryStore',
    'parseEvent',
    'redactError',
    'signPayload',
    'tixWebhooks',
    'unchecked',
    'verifySignature',
    'verifyWebhook',
  ],
  signals: ['Discard', 'RetryLater'],
  errors: Object.keys(ERRORS),
}

/** Exports that need no example: guards are all used alike, and an error is caught like its base class. */
const WITHOUT_EXAMPLE = new Set([
  'isWebhookError',
  ...PUBLIC.errors.filter((name) => name !== 'WebhookError'),
])

describe('the package', () => {
  test('exports the subpaths that are listed here, and its package.json', () => {
    expect(Object.keys(packageJson.exports)).toEqual([...Object.keys(SUBPATHS), './package.json'])
  })

  test('is built from the same files', async () => {
    const { default: config } = await import('../../tsup.config.js')
    const entries = subpaths.map(([subpath, file]) => [entryName(subpath), file])
    expect((config as { entry: object }).entry).toEqual(Object.fromEntries(entries))
  })

  test.each(subpaths)('has for %s a source file, and a build of it for ESM and for CJS', (subpath, file) => {
    expect(existsSync(`${ROOT}${file}`)).toBe(true)
    const built = `./dist/${entryName(subpath)}`
    expect(packageJson.exports[subpath as keyof typeof SUBPATHS]).toEqual({
      import: { types: `${built}.d.ts`, default: `${built}.js` },
      require: { types: `${built}.d.cts`, default: `${built}.cjs` },
    })
  })

  test('names each of them in docs/reference.md', () => {
    const names = subpaths.map(([subpath]) => `tix-webhooks${subpath.slice('.'.length)}`)
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
  const missing = ['src', 'adapters', 'testing'].flatMap((folder) =>
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

describe('the main entry', () => {
  test('has at run time what is documented, and nothing else', () => {
    expect(Object.keys(core).sort()).toEqual(Object.values(PUBLIC).flat().sort())
  })

  test.each(Object.entries(ERRORS))(
    'has %s as an error of the base class WebhookError',
    (name, errorClass) => {
      expect(Object.create(errorClass.prototype)).toBeInstanceOf(WebhookError)
      expect(errorClass.prototype).toHaveProperty('name', name)
    },
  )
})

describe('a public function or class', () => {
  let documented: readonly Documented[]
  beforeAll(() => {
    documented = docblocksOf(Object.values(SUBPATHS))
  }, 60_000)

  test('is seen by this test', () => {
    expect(documented.map(({ name }) => name)).toEqual(
      expect.arrayContaining([
        ...PUBLIC.functions,
        ...PUBLIC.signals,
        ...PUBLIC.errors,
        'tixWebhooks',
        'streamBody',
        'requestBody',
      ]),
    )
  })

  test('is not one that our own rooms share', () => {
    const shared = Object.keys(internal)
    expect(shared).toContain('checkOptionNames')
    expect(documented.filter(({ name }) => shared.includes(name))).toEqual([])
  })

  test('has a docblock that says what it does', () => {
    expect(documented.filter(({ summary }) => summary === '')).toEqual([])
  })

  test('has an example, unless there is nothing to show', () => {
    const bare = documented.filter(({ name, examples }) => examples === 0 && !WITHOUT_EXAMPLE.has(name))
    expect(bare).toEqual([])
  })

  test('has its example in a code block, so that it can be pasted', () => {
    expect(documented.filter(({ examples, code }) => examples !== code.length)).toEqual([])
  })
})
