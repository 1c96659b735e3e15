import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import type { Miniflare } from 'miniflare'
import type { ClaimResult, RemoteStore } from 'tix-webhooks'
import { type D1Database, d1Store } from 'tix-webhooks/d1'
import { type DurableObjectNamespace, durableObjectStore } from 'tix-webhooks/durable-object'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { decode, encode, type ObjectCall } from '../../stores/durable-object/protocol.js'
import { SECRET } from '../support/deliveries.js'
import { HANDLED_FACTS } from '../support/handled-facts.js'
import { notRefusedInputs, notRefusedRequests } from '../support/invalid-inputs.js'
import { bundledWorker, workerd } from '../support/workerd.js'

const ISOLATES = ['a', 'b', 'c', 'd']
const YEAR_MS = 366 * 24 * 3_600_000

/** In memory if the system has such a folder: these tests spend most of their time on commits to a disk, which they do not test. */
const TEMPORARY = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()

/** Four isolates of one Worker that share a D1 and a namespace of Durable Objects. */
describe('inside workerd', () => {
  let runtime: Miniflare | undefined
  let folder = ''

  beforeAll(async () => {
    const script = await bundledWorker('test/support/workers/store-worker.ts')
    folder = mkdtempSync(`${TEMPORARY}/tix-webhooks-`)
    const object = { className: 'TestedObject', useSQLite: true }
    runtime = workerd(
      ISOLATES.map((name) => ({
        name,
        modules: true,
        script,
        d1Databases: { DB: 'shared' },
        durableObjects: { WEBHOOKS: name === 'a' ? object : { ...object, scriptName: 'a' } },
        serviceBindings: Object.fromEntries(ISOLATES.map((other) => [other, other])),
        bindings: { SECRET },
      })),
      { d1Persist: `${folder}/d1`, durableObjectsPersist: `${folder}/objects` },
    )
    await ask('/migrate')
  })
  afterAll(async () => {
    await runtime?.dispose()
    if (folder !== '') rmSync(folder, { recursive: true, force: true })
  })

  /** Asks one of the isolates, and resolves to its JSON. */
  async function ask<T>(path: string, worker = 'a'): Promise<T> {
    const response = await (runtime as Miniflare).dispatchFetch(`http://worker${path}`, {
      headers: { worker },
    })
    if (!response.ok) throw new Error(await response.text())
    return (await response.json()) as T
  }

  describe.each(['d1', 'durable-object'])('the store of %s', (name) => {
    test('passes the cases of every store, of which one plays random histories', async () => {
      expect(await ask(`/cases?store=${name}`)).toEqual([])
    })

    test('says which events were handled, and that it can be reached', async () => {
      expect(await ask(`/handled?store=${name}`)).toEqual(HANDLED_FACTS)
      expect(await ask(`/call?store=${name}&method=check`)).toBe('')
    })

    test('grants one of 80 claims that four isolates send at once', async () => {
      for (const key of ['first', 'second', 'third']) {
        const answers = await Promise.all(
          ISOLATES.map((isolate) =>
            ask<{ isolate: number; results: ClaimResult[] }>(`/claims?store=${name}&key=${key}`, isolate),
          ),
        )
        expect(new Set(answers.map(({ isolate }) => isolate)).size).toBe(ISOLATES.length)
        const results = answers.flatMap(({ results }) => results)
        expect(results).toHaveLength(80)
        const granted = results.filter(({ status }) => status !== 'in_flight')
        expect(granted).toEqual([{ status: 'claimed', attempt: 1 }])
      }
    })

    test('makes 100 runs of 1,000 deliveries of 100 events to four isolates, half of them retries of a failed run', async () => {
      const { statuses, retried } = await ask<{ statuses: number[]; retried: number[] }>(
        `/deliveries?store=${name}`,
      )
      expect(statuses).toHaveLength(1_000)
      expect(new Set(statuses)).toEqual(new Set([200, 500, 503]))
      // The first run of each order fails, and a retry runs it again.
      expect([...statuses, ...retried].filter((status) => status === 500)).toHaveLength(100)
      expect(retried.slice(-100)).toEqual(Array(100).fill(200))
      const runs = await ask<{ id: string }[]>(`/runs?store=${name}`)
      expect(runs).toHaveLength(100)
      expect(new Set(runs.map(({ id }) => id)).size).toBe(100)
    })
  })

  /** Runs statements as one batch of D1, and resolves to their rows or to the text of the error. */
  const batch = (...statements: string[]): Promise<unknown> =>
    ask(`/sql?${statements.map((sql) => `sql=${encodeURIComponent(sql)}`).join('&')}`)

  test('a batch of D1 is undone if a statement of it fails, which the store relies on', async () => {
    await batch('CREATE TABLE promised (id TEXT PRIMARY KEY)')
    const insert = "INSERT INTO promised VALUES ('a')"
    expect(await batch(insert, insert)).toMatch(/UNIQUE constraint failed/)
    expect(await batch(insert, 'SELECT id FROM nowhere')).toMatch(/no such table/)
    expect(await batch('SELECT id FROM promised')).toEqual([[]])
  })

  test('D1 purges the events past their retention, oldest first, and no others', async () => {
    const event = (key: string, hours: number): string =>
      `INSERT INTO tix_webhooks_events (event_key, state, token, attempt, lease_until, received_at, expires_at)
       SELECT '${key}', 'handled', 't', 1, 0, at, at FROM (SELECT (unixepoch() + ${hours} * 3600) * 1000 AS at)`
    await batch('DELETE FROM tix_webhooks_events', event('old', -2), event('older', -3), event('kept', 1))
    const keys = 'SELECT event_key AS key FROM tix_webhooks_events ORDER BY key'
    expect(await ask('/call?store=d1&method=purge&limit=1')).toBe(1)
    expect(await batch(keys)).toEqual([[{ key: 'kept' }, { key: 'old' }]])
    expect([
      await ask('/call?store=d1&method=purge&limit=1000'),
      await ask('/call?store=d1&method=purge&limit=1000'),
    ]).toEqual([1, 0])
    expect(await batch(keys)).toEqual([[{ key: 'kept' }]])
  })

  const COLUMNS = 'SELECT * FROM tix_webhooks_events WHERE false'
  const OF_0_1_0 =
    'key TEXT PRIMARY KEY, state TEXT, attempt INTEGER, token TEXT, lease_until INTEGER, expires_at INTEGER'
  const lacks = (columns: string): string => `There is a table "checked" without ${columns}`
  test.each([
    ['no table', '', 'The table of the D1 store is missing: apply its ddl', ''],
    ['the columns of 0.1.0', `(${OF_0_1_0})`, ...twice(lacks('event_key, received_at, namespace, '))],
    ['no primary key', `AS ${COLUMNS}`, ...twice(lacks('PRIMARY KEY (event_key),'))],
  ])(
    'D1 checks its table, and its migration names what that lacks: %s',
    async (_, columns, found, migrated) => {
      await batch(
        'DROP TABLE IF EXISTS checked',
        ...(columns === '' ? [] : [`CREATE TABLE checked ${columns}`]),
      )
      const answers = [
        await ask<string>('/call?method=check&table=checked'),
        await ask<string>('/call?method=migrate&table=checked'),
      ]
      expect(answers).toEqual(
        [found, migrated].map((text) => (text === '' ? '' : expect.stringContaining(text))),
      )
      expect(await batch('SELECT 1 FROM checked')).toEqual([[]])
    },
  )

  test('the ddl of D1, run by its exec, makes what a migration does', async () => {
    expect(await ask('/exec?table=by_exec')).toBe(5)
    expect(await ask('/call?method=migrate&table=by_migration')).toBe('')
    for (const table of ['by_exec', 'by_migration']) {
      const [made] = (await batch(
        `SELECT name FROM sqlite_schema WHERE tbl_name = '${table}' AND sql IS NOT NULL ORDER BY name`,
      )) as { name: string }[][]
      const indexes = ['causes', 'failures', 'orders', 'received'].map((end) => `${table}_${end}`)
      expect(made?.map(({ name }) => name)).toEqual([table, ...indexes])
      expect(await ask(`/call?method=check&table=${table}`)).toBe('')
    }
  })

  const objects = (path: string): Promise<{ count: number; alarm: number | null }[]> =>
    ask(`/objects?store=durable-object&path=${encodeURIComponent(path)}`)

  test('events are spread over Durable Objects, whose alarms delete what is past its retention', async () => {
    for (const { count, alarm } of await objects('/count')) {
      expect(count).toBeGreaterThan(20)
      expect(alarm).toBeGreaterThan(Date.now() + 3_000_000)
    }
    await objects(`/shift?ms=${YEAR_MS}`)
    await objects('/ring')
    const empty = { count: 0, alarm: null }
    await expect.poll(() => objects('/count')).toEqual([empty, empty])
    // A check leaves no record, and the next claim sets an alarm again.
    expect(await ask('/call?store=durable-object&method=check')).toBe('')
    await ask('/claims?store=durable-object&key=after-the-purge')
    const states = await objects('/count')
    expect(states.map(({ count, alarm }) => [count, alarm !== null]).sort()).toEqual([
      [0, false],
      [1, true],
    ])
  })

  test('a client that a receiver keeps from one request to the next fails, and the report has the cure', async () => {
    expect(await ask('/trap?store=captured')).toEqual({
      statuses: [200, 503, 503],
      reports: [
        "The idempotency store's claim failed: its client was made in another request, which Workers forbid: make both for each request, store: (request) => …",
      ],
    })
    expect(await ask('/trap?store=cured')).toEqual({ statuses: [200, 200, 200], reports: [] })
  })
})

const twice = (text: string): [string, string] => [text, text]

const lease = { key: 'k', token: 't' }

/** A D1 whose calls fail. */
function failingD1(message: string): D1Database {
  const statement = { bind: () => statement, all: () => Promise.reject(new Error(message)) }
  return { prepare: () => statement, batch: () => Promise.reject(new Error(message)) }
}

/** A namespace whose objects answer so. */
function namespaceOf(fetch: () => Promise<Response>) {
  const names: string[] = []
  const namespace: DurableObjectNamespace = {
    idFromName: (name) => names.push(name),
    get: () => ({ fetch }),
  }
  return { namespace, names }
}

const d1Fails = (message: string) => d1Store(failingD1(message))
const objectFails = (message: string, marks: object = { remote: true }) =>
  durableObjectStore(namespaceOf(() => Promise.reject(Object.assign(new Error(message), marks))).namespace)
const objectAnswers = (answer: () => Response) =>
  durableObjectStore(namespaceOf(async () => answer()).namespace)

const IS_CLASS = /is the class of the binding TixWebhooksObject/
const FOREIGN = /created by another version or another program/
test.each<[advice: RegExp, store: RemoteStore, code?: string]>([
  [
    /The table of the D1 store is missing: apply its ddl/,
    d1Fails('D1_ERROR: no such table: tix_webhooks_events'),
  ],
  [FOREIGN, d1Fails('D1_ERROR: table tix_webhooks_events has no column named token: SQLITE_ERROR')],
  [FOREIGN, d1Fails('D1_ERROR: NOT NULL constraint failed: tix_webhooks_events.tenant: SQLITE_CONSTRAINT')],
  [/The D1 database is full: purge it/, d1Fails('D1_ERROR: Exceeded maximum DB size'), 'store_full'],
  [/overloaded/, d1Fails('D1_ERROR: D1 DB is overloaded. Too many requests queued.')],
  [/could not be reached/, d1Fails('Network connection lost.')],
  [/list TixWebhooksObject in new_sqlite_classes/, objectFails('SQL is not enabled for this class.')],
  [/is overloaded, or failed/, objectFails('overloaded', {})],
  [/answered with status 404: is the class/, objectAnswers(() => new Response('Not found', { status: 404 }))],
  [/answered without JSON: is the class/, objectAnswers(() => new Response('hello'))],
  [IS_CLASS, objectFails('Handler does not export a fetch() function.')],
  [/could not be reached/, objectFails('reset because its code was updated', { retryable: true })],
  [/full: it takes new events once/, objectFails('database or disk is full: SQLITE_FULL'), 'store_full'],
])('the error of a store at the edge says: %s', async (advice, store, code = 'store_unavailable') => {
  for (const call of [
    async () => store.claim({ ...lease, leaseMs: 1, retainMs: 1 }),
    async () => store.release(lease),
    async () => store.isHandled('k'),
    async () => store.check(),
  ]) {
    await expect(call()).rejects.toMatchObject({ code, message: expect.stringMatching(advice) })
  }
})

test('an object of a version before isHandled is not taken for one without the record', async () => {
  await expect(objectAnswers(() => Response.json({})).isHandled('k')).rejects.toMatchObject({
    code: 'store_unavailable',
    message: expect.stringMatching(/^The Durable Object answered without a result/),
  })
})

test('each call of D1 is one round trip', async () => {
  let trips = 0
  const rows = [{ verdict: 0b100100, seen: 0, changed: 1, parked: 0, c0: 1 }]
  const statement = { bind: () => statement, all: () => expect.fail('It is not in a batch') }
  const store = d1Store({
    prepare: () => statement,
    async batch(statements) {
      trips += 1
      return statements.map(() => ({ results: rows }))
    },
  })
  expect(await store.claim({ ...lease, leaseMs: 1, retainMs: 1 })).toEqual({ status: 'claimed', attempt: 1 })
  const calls = [
    () => store.renew(lease, 1),
    () => store.complete(lease, 1),
    () => store.release(lease),
    () => store.forget('k'),
    () => store.isHandled('k'),
    () => store.ledger.count(),
    () => store.ledger.discard('k', { reason: 'a test order' }),
  ]
  // The first claim purges, too.
  trips = 0
  for (const call of calls) await call()
  expect(trips).toBe(calls.length)
})

test('the ledger of Durable Objects is made of those of all, and asks the one of an event for it', async () => {
  const [old, young] = [new Date(1), new Date(2)]
  const group = { group: 'g', kind: '', code: '', message: '', failing: 1, parked: 0, replays: 1, count: 1 }
  const objects: Readonly<Record<string, readonly unknown[]>> = {
    list: [
      [{ receivedAt: young, key: 'b' }],
      [
        { receivedAt: old, key: 'c' },
        { receivedAt: young, key: 'a' },
      ],
      [],
    ],
    groups: [
      [{ ...group, message: 'late', firstAt: old, lastAt: young }],
      [
        { ...group, message: 'early', firstAt: old, lastAt: old },
        { ...group, group: 'f', firstAt: old, lastAt: young },
      ],
      [],
    ],
    count: [6_000, 6_000, 0],
    purge: [2, 0, 1],
    get: [null, null, null],
  }
  const asked: string[] = []
  const store = durableObjectStore(
    {
      idFromName: (name) => name,
      get: (name: string) => ({
        async fetch(_: string, { body }: { body: string }) {
          const { method } = decode(body) as ObjectCall
          asked.push(method)
          return new Response(encode({ result: objects[method]?.[Number(name.at(-1))] }))
        },
      }),
    },
    { shards: 3 },
  )
  const { ledger } = store
  const keys = async (query: object) => (await ledger.list(query)).map(({ key }) => key)
  expect(await keys({})).toEqual(['b', 'a', 'c'])
  expect(await keys({ order: 'oldest', limit: 2, after: { receivedAt: old, key: '' } })).toEqual(['c', 'a'])
  expect(await ledger.groups()).toEqual([
    { ...group, group: 'f', firstAt: old, lastAt: young },
    { ...group, message: 'late', firstAt: old, lastAt: young, count: 2, failing: 2, replays: 2 },
  ])
  expect(await ledger.count()).toBe(10_001)
  expect(await store.purge()).toBe(3)
  asked.length = 0
  expect(await ledger.get('k')).toBeUndefined()
  expect(asked).toEqual(['get'])
})

test.each<[string, (index: number) => string]>([
  ['repeated', (index) => `${index}-${index}`],
  ['in sequence', (index) => `${1_000_000 + index}`],
  ['multiples of 16', (index) => `${16 * index}`],
])('ids that are %s go to all 16 objects about equally, and each to its own', async (_, idOf) => {
  const { namespace, names } = namespaceOf(async () => Response.json({ result: true }))
  const store = durableObjectStore(namespace)
  for (let i = 0; i < 1_600; i++) await store.release({ key: `orders/order.created/${idOf(i)}`, token: 't' })
  const counts = [...new Set(names)].map((name) => names.filter((other) => other === name).length)
  expect(counts).toHaveLength(16)
  expect(Math.max(...counts)).toBeLessThan(160)
  const first = names[0]
  await store.release({ key: `orders/order.created/${idOf(0)}`, token: 'other' })
  expect(names.at(-1)).toBe(first)
})

test('a store at the edge refuses other bindings and options, and what the contract does not allow', async () => {
  const db = failingD1('unused')
  const { namespace } = namespaceOf(async () => new Response())
  const make = (given: () => unknown) => given()
  expect(
    notRefusedInputs(make, [
      [() => d1Store(undefined as never), /^db must be a D1 binding, such as env.DB, not undefined/],
      [() => d1Store({ DB: db } as never), /^db must be a D1 binding/],
      [() => d1Store(db, { table: 'a b' }), /^table must be a name/],
      [() => d1Store(db, { tabel: 'x' } as object), /tabel/],
      [() => durableObjectStore(undefined as never), /^namespace must be a binding to Durable Objects/],
      [() => durableObjectStore({ fetch() {} } as never), /^namespace must be a binding to Durable Objects/],
      [() => durableObjectStore(namespace, { shards: 0 }), /^shards must be a whole number of at least 1/],
      [() => durableObjectStore(namespace, { shard: 2 } as object), /shard/],
    ]),
  ).toEqual([])
  for (const store of [d1Store(db), durableObjectStore(namespace)]) {
    expect(await notRefusedRequests(store)).toEqual([])
  }
  await expect(d1Store(db).purge({ limit: 0 })).rejects.toThrow(TypeError)
})
