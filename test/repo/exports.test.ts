import { readdirSync, readFileSync } from 'node:fs'
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
import { ENTRIES } from '../../build/entries.js'
import packageJson from '../../package.json' with { type: 'json' }
import * as internal from '../../src/internal.js'
import { type Documented, docblocksOf } from '../support/docblocks.js'
import { ROOT } from '../support/root.js'
import { importsOf, modulesIn } from '../support/source.js'

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
  test('has a subpath for each adapter, and for each entry of the receiver', () => {
    const adapters = readdirSync(`${ROOT}adapters`).filter((file) => file.endsWith('.ts'))
    const expected = [
      'src/index.ts',
      'src/fetch.ts',
      'src/node.ts',
      ...adapters.map((file) => `adapters/${file}`),
    ]
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
    documented = docblocksOf(Object.values(ENTRIES))
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
