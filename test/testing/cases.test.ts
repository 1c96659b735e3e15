/** @module-tag slow */
import { memoryStore } from 'tix-webhooks'
import {
  type AdapterAnswer,
  type AdapterHarness,
  adapterCases,
  inboxCases,
  ledgerCases,
  type StoreHarness,
  storeCases,
} from 'tix-webhooks/testing'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { never } from '../support/promises.js'
import { adapterHarness, delivering } from '../support/testing/faulty-adapters.js'
import { inboxHarness } from '../support/testing/faulty-inboxes.js'
import {
  createBackend,
  decided,
  ledgerHarness,
  modelStore,
  storeHarness,
} from '../support/testing/model-store.js'

interface Case {
  readonly id: string
  run(harness: never): Promise<void>
}

const CASES = { store: storeCases, inbox: inboxCases, ledger: ledgerCases, adapter: adapterCases }
type Subject = keyof typeof CASES

/** Why a case fails on a harness. */
async function failure(subject: Subject, id: string, harness: unknown): Promise<Error> {
  const found = (CASES[subject] as readonly Case[]).find((one) => one.id === id)
  if (found === undefined) throw new Error(`there is no case ${id}`)
  return found.run(harness as never).then(
    () => new Error(`${id} did not fail`),
    (error: Error) => error,
  )
}

afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
  vi.unstubAllEnvs()
})

const advance = async (): Promise<void> => {}
const cause = new Error('connection refused')
const reject = () => Promise.reject(cause)

const createStore = async () => memoryStore()
const createModel = async () => modelStore(createBackend())
const stores = (wrong: object) => ({ create: async () => ({ ...memoryStore(), ...wrong }), advance })
const claiming = (answer: unknown) => stores({ claim: async () => answer })
const plainInboxes = inboxHarness()
const inboxes = (once: () => unknown) => ({ ...plainInboxes, create: async () => ({ once }) })

/** A right answer to what is handled. */
const HANDLED: AdapterAnswer = {
  status: 200,
  headers: { 'content-type': 'application/json' },
  text: '{"outcome":"handled"}',
}

/** Apps that are counted, with something in the place of their parts. */
function counted(parts: { send?: () => unknown; close?: () => unknown } = {}, timeoutSeconds = 4) {
  const correct = adapterHarness()
  const count = { mounted: 0, closed: 0 }
  const harness: AdapterHarness = {
    timeoutSeconds,
    async mount(options) {
      const app = await correct.mount(options)
      count.mounted += 1
      const close = async (): Promise<unknown> => {
        count.closed += 1
        return (parts.close ?? app.close)()
      }
      return { send: (parts.send as typeof app.send) ?? app.send, close }
    },
  }
  return { harness, count }
}

const sending = (answer: unknown) => counted({ send: async () => answer }).harness

describe('a failure has what was expected, what came, and what led to it:', () => {
  test.each<[Subject, string, unknown, unknown[]]>([
    [
      'store',
      'claim-takeover',
      storeHarness(() => ({
        decide: (record, call, now) =>
          decided(record && { ...record, leaseUntil: Math.max(record.leaseUntil, now + 1) }, call, now),
      })),
      [
        'case claim-takeover: b claim (step 5): expected {"status":"claimed","attempt":2}, but it returned {"status":"in_flight","retryAfterMs":1}.',
        'A store MUST grant a record to another token when its lease has run out.',
        '  1. a claim → {"status":"claimed","attempt":1}',
        '  2. 25 min pass',
        '  3. b claim → {"status":"in_flight","retryAfterMs":300000}',
        '  4. 10 min pass',
        '  5. b claim → {"status":"in_flight","retryAfterMs":1}',
      ],
    ],
    [
      'inbox',
      'connection-back',
      inboxHarness((right) => ({ open: async (_, request) => right.decide(undefined, request).row })),
      [
        'case connection-back: the work was called though the event is handled.',
        'An inbox MUST give its connection back, however a delivery ends.',
        '  1. deliver "1" by another inbox → handled',
        '  2. deliver "1" by another inbox → handled',
        '  3. deliver "1" by another inbox → …',
      ],
    ],
    [
      'inbox',
      'handled',
      { ...inboxes(never), timeoutMs: 20 },
      [
        'case handled: it has not ended after 0.02 s.',
        'An inbox MUST commit all that its work has written when that resolves, and nothing before.',
        '  1. deliver "1" → …',
      ],
    ],
    [
      'ledger',
      'forget',
      stores({ forget: async () => true }),
      [
        'case forget: forget (step 1): expected false, but it returned true.',
        'A store MUST remove all that it knows of an event.',
        '  1. forget → true',
      ],
    ],
    [
      'ledger',
      'fail-token',
      ledgerHarness(() => ({
        decide(row, call, now) {
          const next = decided(row, call, now)
          return call.do === 'keep' && next.row ? { ...next, row: { ...next.row, attempt: 9 } } : next
        },
      })),
      [
        'case fail-token: get: expected attempts to be 2, but it is 9.',
        'A store MUST NOT change the token of a run that failed.',
        '  1. a claim → {"status":"claimed","attempt":1}',
        '  2. get → running',
        '  3. a fail → "failing"',
        '  4. get → failing 1',
        '  5. keep → "failing"',
        '  6. get → failing 2',
      ],
    ],
    [
      'adapter',
      'body-spacing',
      adapterHarness(
        delivering((_, request) => ({ body: async () => Buffer.from(JSON.stringify(await request.json())) })),
      ),
      [
        expect.stringMatching(
          /^case body-spacing: JSON with odd spacing and escapes: expected 200 {"outcome":"handled"} with content-type: application\/json, but got 401 {"outcome":"unauthenticated"} with content-type: application\/json\. The receiver reported: .*signature.*\.$/,
        ),
        'An adapter MUST pass on the exact bytes, whatever the spacing, escapes and line ends.',
      ],
    ],
  ])('of the case of %s %s', async (subject, id, harness, lines) => {
    expect((await failure(subject, id, harness)).message.split('\n')).toEqual(lines)
  })
})

/** Harnesses, each with a part of the message of a failure, and its case if that is not the first. */
type Rows = Readonly<Record<Subject, readonly (readonly [harness: unknown, told: string, id?: string])[]>>

const FIRST = { store: 'claim-fresh', inbox: 'handled', ledger: 'fail', adapter: 'answer-handled' }

const rowsOf = (rows: Rows) =>
  (Object.keys(rows) as Subject[]).flatMap((subject) =>
    rows[subject].map(([harness, told, id = FIRST[subject]]) => ({ subject, harness, told, id })),
  )

const claimed = (told: string) => `expected {"status":"claimed","attempt":1}, but it returned ${told}.`

const SHOWN: Rows = {
  store: [
    [claiming(circular()), claimed('[object Object]')],
    [
      storeHarness(() => ({ decide: (_, call, now) => decided(undefined, call, now) })),
      'expected 1 × {"status":"claimed","attempt":1} and 23 × {"status":"in_flight","retryAfterMs":1740000 to 1800000}, but they returned 24 × {"status":"claimed","attempt":1}',
      'race-fresh',
    ],
    [
      { create: createModel, createSecond: createModel, advance },
      'b claim on the second client (step 2): expected {"status":"in_flight","retryAfterMs":1740000 to 1800000}, but it returned {"status":"claimed","attempt":1}.',
      'client-records',
    ],
  ],
  inbox: [
    [
      { ...plainInboxes, read: async () => (await plainInboxes.read()).flatMap((id) => [id, id]) },
      'expected "a", "b" to be written, but there is "a", "a", "b", "b".\n',
    ],
    [inboxes(reject), 'deliver "/////////…///": expected handled', 'key-long'],
  ],
  ledger: [
    [
      stores({ keep: async () => 1n }),
      'keep (step 1): expected "failing", but it returned "bigint 1".\n',
      'keep',
    ],
    [
      { create: createModel, createSecond: createModel, advance },
      'b claim on the second client → {"status":"claimed","attempt":1}',
      'park-claim',
    ],
  ],
  adapter: [
    [
      sending({ ...HANDLED, text: `<html>${' '.repeat(100_000)}` }),
      `but got 200 <html>${' '.repeat(194)}… with`,
    ],
    [
      sending({ ...HANDLED, headers: { ...HANDLED.headers, 'x-debug': 'key whsec_of_the_adapter_cases' } }),
      'expected headers that reveal nothing, but got x-debug: key whsec_of_the_adapter_cases',
    ],
    [counted({ send: never }, 0.05).harness, 'an answer, but there was none within 0.05 s.\n'],
    [counted({ close: reject }).harness, 'to close, but it was rejected: connection refused.\n'],
  ],
}

test.each(rowsOf(SHOWN))('a failure of $subject shows: $told', async ({ subject, id, harness, told }) => {
  const { message } = await failure(subject, id, harness)
  expect(message).toContain(`case ${id}: `)
  expect(message).toContain(told)
})

const REJECTED: Rows = {
  store: [
    [stores({ claim: reject }), 'a claim was rejected: connection refused.\n'],
    [
      { create: createStore, advance: reject },
      '25 min pass was rejected: connection refused',
      'claim-takeover',
    ],
  ],
  inbox: [[inboxes(reject), 'deliver "1": expected handled, but it was rejected: connection refused.\n']],
  ledger: [[stores({ fail: reject }), 'a fail was rejected: connection refused.\n']],
  adapter: [
    [
      counted({ send: reject }).harness,
      'an order: expected an answer, but it was rejected: connection refused.\n',
    ],
  ],
}

test.each(rowsOf(REJECTED))('a failure of $subject has the cause: $told', async (row) => {
  const { subject, id, harness, told } = row
  const found = await failure(subject, id, harness)
  expect(found.message).toContain(`case ${id}: ${told}`)
  expect(found.cause).toBe(cause)
  const broken = { ...(harness as object), create: reject, mount: reject }
  if (subject !== 'inbox') expect(await failure(subject, id, broken)).toBe(cause)
})

const model = modelStore(createBackend())
const createSame = async () => model
const { cut: _, ...withoutCut } = plainInboxes
const { harness: apps } = counted()
const mounting = (mounted: unknown) => ({ mount: async () => mounted })
const ANSWER = 'it must resolve to { status, headers, text }'

const REFUSED: Rows = {
  store: [
    [{ create: createStore }, 'The harness has no advance function: pass { create, advance }'],
    [stores({ renew: undefined }), 'something without renew: it must resolve to an Idem'],
    [{ create: createSame, advance }, 'no createSecond function: add one', 'race-fresh'],
    [
      { create: createSame, createSecond: createSame, advance },
      'resolved to the store of create()',
      'race-fresh',
    ],
  ],
  inbox: [
    [undefined, 'The harness has no create function: pass { create, write, read, fail,'],
    [withoutCut, 'The harness has no cut: pass a function, as InboxHarness describes it, or null'],
    [{ ...plainInboxes, create: async () => undefined }, 'something without a once function'],
    [
      { ...plainInboxes, fail: async () => {} },
      "the harness's fail() resolved, but it must send a statement that fails",
      'swallowed',
    ],
  ],
  ledger: [
    [memoryStore(), 'The harness has no create function: pass { create, advance }'],
    [
      stores({ ledger: undefined }),
      'something without ledger: it must resolve to a LedgerStore (claim, renew',
    ],
  ],
  adapter: [
    [() => {}, 'The harness has no mount function: pass { mount }'],
    [{ ...apps, timeoutSeconds: '5' }, 'must be a number of seconds above 0'],
    [mounting(undefined), 'without a send function: it must resolve to { send, close }'],
    [sending(new Response()), ANSWER],
    [sending({ ...HANDLED, status: '200' }), ANSWER],
  ],
}

test.each(rowsOf(REFUSED))('a harness of $subject is refused with what to pass: $told', async (row) => {
  const refusal = await failure(row.subject, row.id, row.harness)
  if (row.subject !== 'inbox') expect(refusal).toBeInstanceOf(TypeError)
  expect(refusal.message).toContain(row.told)
})

describe('the cases of a store and a ledger', () => {
  test('pass on a memory store that all share, as they share a database, and on one that is new for each', async () => {
    // It has fractions, and advances by itself as a real clock.
    let now = 1_790_000_000_000.123
    const clock = {
      now() {
        now += 0.1
        return now
      },
    }
    const advance = async (ms: number) => {
      now += ms
    }
    const store = memoryStore(clock)
    const shared = { create: async () => store, createSecond: async () => ({ ...store }), advance }
    for (const { run } of [...storeCases, ...ledgerCases]) {
      await run(shared)
      // Its records end with the process: it has no second client.
      await run({ create: async () => memoryStore(clock), advance })
    }
  })

  test('name the client that made a step, and how far its clock is ahead', async () => {
    const NOW = Date.UTC(2026, 4, 17)
    vi.useFakeTimers({ now: NOW, toFake: ['Date'] })
    const skewed = storeHarness((right) => ({ now: () => right.now() + Date.now() - NOW }))
    expect((await failure('store', 'clock-ahead', skewed)).message).toContain(
      '\n  2. b claim lease 3 kept 3 on the second client, whose clock is 4 min ahead → {"status":"claimed","attempt":1}',
    )
    expect(Date.now()).toBe(NOW)
  })

  test('name the step of a random history that differs from the model, the same each time', async () => {
    const forgetful = (): StoreHarness => storeHarness(() => ({ renew: async () => false }))
    const { message } = await failure('store', 'histories', forgetful())
    expect(message).toMatch(
      /^case histories: [abcd] renew .* of key [123].* \(step (\d+)\): expected true, but it returned false\.\n/,
    )
    expect(message).toMatch(/\n {2}1\. .*\n {2}2\. /)
    expect((await failure('store', 'histories', forgetful())).message).toBe(message)
  })
})

test('the cases of an inbox that need what a database cannot do say so, and test nothing', async () => {
  const create = () => Promise.reject(new Error('not to be called'))
  const harness = { ...plainInboxes, create, fail: null, nest: null, cut: null, advance: null, store: null }
  const untested: string[] = []
  for (const { id, needs, run } of inboxCases) {
    const hasPassed = await run(harness).then(
      () => true,
      () => false,
    )
    expect([id, hasPassed]).toEqual([id, needs !== undefined])
    if (hasPassed) untested.push(`${id}: ${needs}`)
  }
  expect(untested).toEqual([
    ...['discarded-failed: fail', 'swallowed: fail', 'nested: nest', 'lost-idle: cut', 'lost-running: cut'],
    ...['lost-at-once: cut', 'lost-commit: cut', 'lost-reply: cut', 'retained: advance'],
    ...['lease: store', 'failure-retained: advance'],
  ])
})

test('the cases of an inbox pass on one that is no ledger', async () => {
  const create = async (options: { readonly connections: number }) => {
    const inbox = await plainInboxes.create(options)
    return { once: inbox.once.bind(inbox), connections: inbox.connections }
  }
  for (const { run } of inboxCases) await run({ ...plainInboxes, create })
})

describe('the cases of an adapter', () => {
  // Our adapters run them in test/adapters/conformance.test.ts.
  test('pass on a correct one, close it, and print nothing, in production too', async () => {
    vi.stubEnv('NODE_ENV', 'production')
    const printers = (['log', 'info', 'warn', 'error'] as const).map((name) =>
      vi.spyOn(console, name).mockImplementation(() => {}),
    )
    const { harness, count } = counted()
    for (const { run } of adapterCases) await run(harness)
    expect(count.closed).toBe(count.mounted)
    expect(count.mounted).toBeGreaterThanOrEqual(adapterCases.length)
    expect(printers.flatMap(({ mock }) => mock.calls)).toEqual([])
  })

  test.each<[string, () => Promise<unknown>]>([
    ['it fails', async () => ({ ...HANDLED, status: 404 })],
    ['the client rejects', reject],
    ['the client returns no answer', async () => undefined],
  ])('close what they mount if %s', async (_, send) => {
    for (const { id, run } of adapterCases) {
      const { harness, count } = counted({ send })
      await run(harness).catch(() => {})
      expect([id, count.closed]).toEqual([id, count.mounted])
      expect(count.mounted).toBeGreaterThan(0)
    }
  })
})

function circular(): object {
  const one: { self?: object; status: string } = { status: 'claimed' }
  one.self = one
  return one
}

test('the names of headers may be in capitals, as some clients give them', async () => {
  const right = adapterHarness()
  const harness: AdapterHarness = {
    async mount(options) {
      const app = await right.mount(options)
      return {
        close: app.close,
        async send(delivery) {
          const answer = await app.send(delivery)
          const headers = Object.entries(answer.headers).map(([name, value]) => [name.toUpperCase(), value])
          return { ...answer, headers: Object.fromEntries(headers) }
        },
      }
    },
  }
  await adapterCases[0]?.run(harness)
})
