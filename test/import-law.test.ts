import ts from 'typescript'
import { describe, expect, test } from 'vitest'
import { type Import, importsOf, modulesIn, nodesOf } from './support/source.js'

/** The layers of src, the lowest first: a module imports from the rows above its own only, its types included. So there are no cycles. */
const LAYERS = [
  [
    'errors',
    'store',
    'inbox',
    'deferred',
    'events',
    'timers',
    'token',
    'call-safely',
    'call-site',
    'user-frames',
    'describe-type',
    'encoding',
    'key-filter',
    'preset-headers',
  ],
  ['pending', 'gate'],
  ['deadline', 'generations', 'hmac', 'node-request', 'option-names', 'clock', 'purge', 'store-rules'],
  ['outcome', 'schema', 'secrets', 'signature-scheme', 'memory-store', 'store-call'],
  ['signature-header', 'body', 'payload', 'handlers', 'key', 'run'],
  ['signature-match', 'delivery', 'options', 'lease'],
  ['default-log', 'wrong-host'],
  ['signature'],
  ['parse-event', 'settings', 'transaction'],
  ['report'],
  ['job'],
  ['receiver'],
  ['index', 'fetch', 'node'],
]

/** Who may name a module of the platform; all else of src runs anywhere. */
const PLATFORM = ['hmac', 'node']

/** The one third party that each adapter names, and only its types. */
const THIRD_PARTY: Readonly<Record<string, string>> = { express: 'express', fastify: 'fastify', hono: 'hono' }

/** What an adapter may use of us: what a stranger's adapter can use too. */
const PUBLIC_ENTRIES = ['../src/index.js', '../src/node.js', '../src/fetch.js']

/** What keeps records, and may be in several files that begin with its name. They share what all stores check. */
const STORES: readonly string[] = ['redis', 'postgres', 'sqlite']
const STORE_INTERNALS = [
  'call-safely',
  'call-site',
  'clock',
  'timers',
  'deferred',
  'describe-type',
  'encoding',
  'errors',
  'option-names',
  'purge',
  'store-rules',
]

/** What the testing kit checks its options with, as the receiver does. */
const TESTING_INTERNALS = ['clock', 'describe-type', 'option-names', 'signature-header', 'signature-scheme']

/** Its files that are an entry of their own, for those who have the library; and what these are made of. */
const TESTING_THIRD_PARTY = 'fast-check'
const isArbitrary = (name: string): boolean => name === 'fast-check' || name.startsWith('arbitrary-')

/** The one place for statuses. */
const STATUSES = 'src/outcome.ts'

const src = modulesIn('src')
const adapters = modulesIn('adapters')
const testing = modulesIn('testing')
const files = [...src.map((name) => `src/${name}.ts`), ...adapters.map((name) => `adapters/${name}.ts`)]

const isPlatformType = ({ specifier, typeOnly }: Import): boolean => typeOnly && specifier.startsWith('node:')

/** A constant whose name ends in its unit of time is no status. */
const isDuration = (node: ts.Node): boolean =>
  ts.isVariableDeclaration(node) && ts.isIdentifier(node.name) && /_(MS|SECONDS)$/.test(node.name.text)

describe('src', () => {
  test('has each of its modules in one layer', () => {
    expect(LAYERS.flat().sort()).toEqual([...src].sort())
  })

  test.each(src)('%s imports only from lower layers, and no third party', (name) => {
    const layer = LAYERS.findIndex((row) => row.includes(name))
    const allowed = LAYERS.slice(0, layer).flatMap((row) => row.map((lower) => `./${lower}.js`))
    const refused = importsOf(`src/${name}.ts`).filter(
      (one) => !allowed.includes(one.specifier) && !(PLATFORM.includes(name) && isPlatformType(one)),
    )
    expect(refused).toEqual([])
  })
})

const storeOf = (name: string): string | undefined => STORES.find((store) => name.split('-')[0] === store)

describe('a store', () => {
  test.each(adapters.filter(storeOf))(
    '%s imports its own files and what stores share, and no third party',
    (name) => {
      const own = adapters.filter((other) => storeOf(other) === storeOf(name)).map((other) => `./${other}.js`)
      const allowed = [
        '../src/index.js',
        ...STORE_INTERNALS.map((internal) => `../src/${internal}.js`),
        ...own,
      ]
      expect(
        importsOf(`adapters/${name}.ts`).filter(({ specifier }) => !allowed.includes(specifier)),
      ).toEqual([])
    },
  )
})

describe('an adapter', () => {
  test.each(adapters.filter((name) => storeOf(name) === undefined))(
    '%s imports its own third party, as types, and our public entries',
    (name) => {
      const refused = importsOf(`adapters/${name}.ts`).filter(
        (one) =>
          !PUBLIC_ENTRIES.includes(one.specifier) &&
          !isPlatformType(one) &&
          !(one.typeOnly && one.specifier === THIRD_PARTY[name]),
      )
      expect(refused).toEqual([])
    },
  )
})

describe('testing', () => {
  test.each(testing)('%s imports only its own room and what checks options, so it runs anywhere', (name) => {
    const own = testing.filter((other) => isArbitrary(name) || !isArbitrary(other))
    const allowed = [
      '../src/index.js',
      ...TESTING_INTERNALS.map((internal) => `../src/${internal}.js`),
      ...own.map((other) => `./${other}.js`),
      ...(isArbitrary(name) ? [TESTING_THIRD_PARTY] : []),
    ]
    expect(importsOf(`testing/${name}.ts`).filter(({ specifier }) => !allowed.includes(specifier))).toEqual(
      [],
    )
  })
})

describe('a source file', () => {
  test.each(files.filter((file) => file !== STATUSES))('%s decides no status', (file) => {
    const numbers = [...nodesOf(file)].filter(ts.isNumericLiteral)
    const statuses = numbers.filter(
      ({ text, parent }) => /^(200|[45]\d\d)$/.test(text) && !ts.findAncestor(parent, isDuration),
    )
    expect(statuses.map(({ text }) => text)).toEqual([])
  })

  test.each([...files, ...testing.map((name) => `testing/${name}.ts`)])('%s has no `any`', (file) => {
    expect([...nodesOf(file)].filter(({ kind }) => kind === ts.SyntaxKind.AnyKeyword)).toEqual([])
  })
})
