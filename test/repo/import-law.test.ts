import ts from 'typescript'
import { describe, expect, test } from 'vitest'
import {
  circlesIn,
  filesIn,
  isAllowedBy,
  type Named,
  namedBy,
  type Room,
  refused,
} from '../support/import-law.js'
import { nodesOf } from '../support/source.js'

const room = (folder: string, ours: readonly string[] = [], theirs: readonly string[] = []): Room => ({
  folder,
  ours,
  theirs,
})

/** These import each other. */
const LOWEST = ['src/lib/', 'src/errors.ts', 'src/durations.ts']
const CONTRACTS = [...LOWEST, 'src/signature/', 'src/ledger/', 'src/event/']

/** Open to the rooms around src: what users have, and what only our own rooms share. */
const DOORS = ['src/index.ts', 'src/internal.ts']
const ON_HTTP = [...DOORS, 'adapters/http/']
const OF_STORES = [...DOORS, 'stores/lib/']
const OF_SQL = [...OF_STORES, 'stores/sql/']

/** The rooms of the kit, lowest first. */
const GROUND = ['call-handler.ts', 'deliveries/', 'store-cases/', 'ledger-cases/', 'inbox-cases/'].map(
  (name) => `testing/${name}`,
)
const RETRYING = [...DOORS, ...GROUND, 'testing/retries/']
const SENDING = [...RETRYING, 'testing/scenarios/', 'testing/interruptions/']
const KIT = [...SENDING, 'testing/adapter-cases/']

/** A path, what its files import besides each other, types included, and the third parties. The first that matches a file counts. */
const ROOMS: readonly Room[] = [
  ...LOWEST.map((path) => room(path, LOWEST)),
  // It looks the module up at run time.
  room('src/signature/hmac.ts', [...LOWEST, 'src/signature/'], ['node:crypto']),
  room('src/signature/', LOWEST),
  room('src/ledger/', LOWEST),
  room('src/event/', [...LOWEST, 'src/signature/']),
  room('src/operation/', [...CONTRACTS, 'src/receiver/']),
  room('src/receiver/', [...CONTRACTS, 'src/operation/']),
  ...DOORS.map((path) => room(path, ['src/'])),

  room('adapters/http/', DOORS, ['node:']),
  room('adapters/fetch.ts', ON_HTTP),
  room('adapters/node.ts', ON_HTTP, ['node:']),
  room('adapters/hono.ts', [...ON_HTTP, 'adapters/fetch.ts'], ['hono']),
  room('adapters/express.ts', [...ON_HTTP, 'adapters/node.ts'], ['express', 'node:']),
  room('adapters/fastify', [...ON_HTTP, 'adapters/node.ts'], ['fastify', 'node:']),

  room('stores/lib/', DOORS),
  room('stores/sql/', OF_STORES),
  ...['postgres', 'mysql', 'sqlite', 'd1', 'durable-object'].map((name) => room(`stores/${name}`, OF_SQL)),
  room('stores/redis', OF_STORES),

  room('telemetry/', DOORS, ['@opentelemetry/api']),

  // Their steps are those of a store.
  ...['ledger', 'inbox'].map((name) => room(`testing/${name}-cases/`, [...DOORS, 'testing/store-cases/'])),
  ...GROUND.map((path) => room(path, DOORS)),
  room('testing/retries/', [...DOORS, ...GROUND]),
  room('testing/arbitraries/', [...DOORS, ...GROUND], ['fast-check']),
  ...['scenarios', 'interruptions'].map((name) => room(`testing/${name}/`, RETRYING)),
  room('testing/adapter-cases/', SENDING),
  room('testing/index.ts', KIT),
  room('testing/fast-check.ts', [...KIT, 'testing/arbitraries/'], ['fast-check']),
]

/** The only rooms that load their third party; the others import types. */
const LOADING = ['telemetry/', 'testing/arbitraries/', 'testing/fast-check.ts']

/** The dialect that SQLite, D1 and Durable Objects share. */
const SQLITE_DIALECT = 'stores/sql/sqlite-dialect/'
const ON_SQLITE = ['stores/sqlite', 'stores/d1', 'stores/durable-object', SQLITE_DIALECT]

/** The one place for time limits, pauses and intervals. */
const DURATIONS = 'src/durations.ts'

/** The one place for statuses. */
const STATUSES = 'src/receiver/outcome.ts'

const [src, adapters, stores, telemetry, testing] = ['src', 'adapters', 'stores', 'telemetry', 'testing'].map(
  filesIn,
) as [string[], string[], string[], string[], string[]]
const all = [...src, ...adapters, ...stores, ...telemetry, ...testing]

test('every file stands in a room of the law, and every room has one', () => {
  expect(all.filter((file) => !ROOMS.some(({ folder }) => file.startsWith(folder)))).toEqual([])
  expect(ROOMS.filter(({ folder }) => !all.some((file) => file.startsWith(folder)))).toEqual([])
})

test('a file imports its own room and those that the law opens to it', () => {
  expect(refused(all, (file, { target }) => isAllowedBy(ROOMS, file, target))).toEqual([])
})

test('nothing but telemetry and the arbitraries loads a third party', () => {
  const isAllowed = (file: string, { specifier, typeOnly }: Named): boolean =>
    specifier.startsWith('.') || typeOnly || LOADING.some((folder) => file.startsWith(folder))
  expect(refused(all, isAllowed)).toEqual([])
})

test('the dialect of SQLite is for those who speak it', () => {
  const isAllowed = (file: string, { target }: Named): boolean =>
    !target.startsWith(SQLITE_DIALECT) || ON_SQLITE.some((folder) => file.startsWith(folder))
  expect(refused(stores, isAllowed)).toEqual([])
})

test('nothing imports in a circle', () => {
  const bench = ['http', 'loading', 'receiver', 'sandbox', 'stores', 'support'].flatMap((room) =>
    filesIn(`bench/${room}`),
  )
  expect(circlesIn([...all, ...filesIn('sandbox'), ...bench])).toEqual([])
})

describe('the arbitraries', () => {
  const files = testing.filter((file) => namedBy(file).some(({ specifier }) => specifier === 'fast-check'))

  /** The names of fast-check 3.0.0 that 4 has too, with the same meaning. */
  const IN_BOTH = [
    'Arbitrary',
    'ArrayConstraints',
    'array',
    'boolean',
    'constant',
    'constantFrom',
    'emailAddress',
    'integer',
    'jsonValue',
    'nat',
    'oneof',
    'record',
    'subarray',
    'tuple',
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
    const named = [...src, ...adapters, ...stores, ...telemetry]
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
    const statuses = [...src, ...adapters, ...stores, ...telemetry]
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
