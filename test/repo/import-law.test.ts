import ts from 'typescript'
import { describe, expect, test } from 'vitest'
import { circlesIn, filesIn, type Named, namedBy, refused } from '../support/import-law.js'
import { type Import, nodesOf } from '../support/source.js'

/** The layers of src, lowest first: a file imports from its own layer and from the rows above, types included. */
const LAYERS = [
  ['lib', 'errors', 'durations'],
  ['signature', 'event', 'failures'],
  ['idempotency'],
  ['receiver'],
  ['index', 'fetch', 'node', 'internal'],
]

/** These may import platform modules; everything else in src runs anywhere. */
const PLATFORM = ['src/signature/hmac.ts', 'adapters/node.ts']

/** The one third party that each adapter imports, and only its types. */
const THIRD_PARTY: Readonly<Record<string, string>> = { express: 'express', fastify: 'fastify', hono: 'hono' }

/** The adapter that wraps the options of all others, in a folder of its own; its third party is loaded, and by no other file. */
const TELEMETRY = { room: 'opentelemetry', thirdParty: '@opentelemetry/api' }

/** Open to adapters, stores and the testing kit: the entries that users have, and what is shared by our own rooms alone. */
const DOORS_OF_SRC = ['src/index.ts', 'adapters/node.ts', 'adapters/fetch.ts', 'src/internal.ts']

/** The table and the statements that SQLite, D1 and Durable Objects share. */
const SQLITE_DIALECT = 'sqlite-dialect'
const ON_SQLITE = ['sqlite', 'd1', 'durable-object']

/** The layers of the kit, lowest first: a file imports from its own layer and from the rows above. */
const LAYERS_OF_TESTING = [
  ['call-handler', 'deliveries', 'store-cases', 'failure-cases', 'inbox-cases'],
  ['retries', 'arbitraries'],
  ['scenarios', 'interruptions'],
  ['adapter-cases'],
  ['index', 'fast-check'],
]

/** The library of the kit's second entry, and the files of that entry. */
const TESTING_THIRD_PARTY = 'fast-check'
const isArbitrary = (file: string): boolean => /^testing\/(fast-check\.ts|arbitraries\/)/.test(file)

/** The one place for time limits, pauses and intervals. */
const DURATIONS = 'src/durations.ts'

/** The one place for statuses. */
const STATUSES = 'src/receiver/outcome.ts'

const src = filesIn('src')
const adapters = filesIn('adapters')
const testing = filesIn('testing')

const isPlatformType = ({ specifier, typeOnly }: Import): boolean => typeOnly && specifier.startsWith('node:')

const roomOf = (path: string): string => (path.split('/')[1] as string).replace(/\.ts$/, '')
const layerOf = (path: string, layers = LAYERS): number =>
  layers.findIndex((row) => row.includes(roomOf(path)))

describe('src', () => {
  test('has the rooms of the law and no others', () => {
    expect([...new Set(src.map(roomOf))].sort()).toEqual(LAYERS.flat().sort())
  })

  test('imports from lower rooms only, and no third party', () => {
    const isAllowed = (file: string, one: Named): boolean =>
      (one.target.startsWith('src/') &&
        (roomOf(one.target) === roomOf(file) ||
          layerOf(one.target) < layerOf(file) ||
          isShared(one.target))) ||
      (PLATFORM.includes(file) && isPlatformType(one))
    // The lowest import each other.
    const isShared = (target: string): boolean => layerOf(target) === 0
    expect(refused(src, isAllowed)).toEqual([])
  })
})

test('nothing imports in a circle', () => {
  const bench = ['http', 'loading', 'receiver', 'sandbox', 'stores', 'support'].flatMap((room) =>
    filesIn(`bench/${room}`),
  )
  expect(circlesIn([...src, ...adapters, ...testing, ...filesIn('sandbox'), ...bench])).toEqual([])
})

test('an adapter imports its own files, the doors of src, and of third parties only what is listed', () => {
  const isAllowed = (file: string, one: Named): boolean => {
    const room = roomOf(file)
    if (DOORS_OF_SRC.includes(one.target)) return true
    if (one.target.startsWith('adapters/')) {
      const target = roomOf(one.target)
      return target === room || (target === SQLITE_DIALECT && ON_SQLITE.includes(room))
    }
    if (room === TELEMETRY.room) return one.target === TELEMETRY.thirdParty
    // Every other adapter is a store, which imports no third party.
    return (
      room in THIRD_PARTY && (isPlatformType(one) || (one.typeOnly && one.specifier === THIRD_PARTY[room]))
    )
  }
  expect(refused(adapters, isAllowed)).toEqual([])
  const naming = [...src, ...adapters, ...testing, ...filesIn('sandbox')].filter((file) =>
    namedBy(file).some(({ specifier }) => specifier.startsWith('@opentelemetry/')),
  )
  expect(naming.filter((file) => roomOf(file) !== TELEMETRY.room)).toEqual([])
  expect(naming).not.toEqual([])
})

describe('testing', () => {
  test('has the rooms of the law and no others', () => {
    expect([...new Set(testing.map(roomOf))].sort()).toEqual(LAYERS_OF_TESTING.flat().sort())
  })

  test('imports from its lower rooms only', () => {
    const isAllowed = (file: string, { target }: Named): boolean =>
      !target.startsWith('testing/') ||
      roomOf(target) === roomOf(file) ||
      layerOf(target, LAYERS_OF_TESTING) < layerOf(file, LAYERS_OF_TESTING)
    expect(refused(testing, isAllowed)).toEqual([])
  })

  test('imports its own room and the doors of src, so it runs anywhere', () => {
    const isAllowed = (file: string, { target }: Named): boolean =>
      DOORS_OF_SRC.includes(target) ||
      (target.startsWith('testing/') && (isArbitrary(file) || !isArbitrary(target))) ||
      (isArbitrary(file) && target === TESTING_THIRD_PARTY)
    expect(refused(testing, isAllowed)).toEqual([])
  })
})

describe('the arbitraries', () => {
  const files = testing.filter((file) =>
    namedBy(file).some(({ specifier }) => specifier === TESTING_THIRD_PARTY),
  )

  /** The names of fast-check 3.0.0 that 4 has too, with the same meaning. */
  const IN_BOTH = [
    'Arbitrary',
    'ArrayConstraints',
    'array',
    'boolean',
    'constant',
    'constantFrom',
    'double',
    'emailAddress',
    'integer',
    'letrec',
    'maxSafeInteger',
    'nat',
    'oneof',
    'record',
    'subarray',
    'tuple',
    'uint8Array',
    'uniqueArray',
  ]

  test('use only what both supported versions of fast-check have', () => {
    const names = files
      .flatMap((file) => [...nodesOf(file)])
      .filter((node) => ts.isPropertyAccessExpression(node) || ts.isQualifiedName(node))
      .flatMap((node) => /^fc\.(\w+)$/.exec(node.getText())?.slice(1) ?? [])
    expect([...new Set(names)].sort()).toEqual(IN_BOTH)
  })
})

describe('the sources', () => {
  /** A constant whose name ends in its unit of time is not a status. */
  const isDuration = (node: ts.Node): boolean =>
    ts.isVariableDeclaration(node) && ts.isIdentifier(node.name) && /_(MS|SECONDS)$/.test(node.name.text)

  test('name durations in one file', () => {
    const named = [...src, ...adapters]
      .filter((file) => file !== DURATIONS)
      .flatMap((file) =>
        [...nodesOf(file)]
          .filter((node) => ts.isVariableDeclaration(node) && ts.isIdentifier(node.name))
          .map((node) => (node as ts.VariableDeclaration).name.getText())
          .filter((name) => /^[A-Z_]*(_MS|_SECONDS|TIMEOUT)$/.test(name))
          .map((name) => `${file}: ${name}`),
      )
    expect(named).toEqual([])
  })

  test('decide statuses in one file', () => {
    const statuses = [...src, ...adapters]
      .filter((file) => file !== STATUSES)
      .flatMap((file) =>
        [...nodesOf(file)]
          .filter(ts.isNumericLiteral)
          .filter(({ text, parent }) => /^(200|[45]\d\d)$/.test(text) && !ts.findAncestor(parent, isDuration))
          .map(({ text }) => `${file}: ${text}`),
      )
    expect(statuses).toEqual([])
  })
})
