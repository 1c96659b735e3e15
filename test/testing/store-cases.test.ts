/** @module-tag slow */
import { type IdempotencyStore, memoryStore } from 'tix-webhooks'
import { type StoreHarness, storeCases } from 'tix-webhooks/testing'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { type KeyedCall, type KeyRecord, transition } from '../../testing/store-cases/transition.js'
import { turns } from '../support/promises.js'
import { failureOf } from '../support/testing/failure-of.js'
import { createBackend, modelStore, storeHarness } from '../support/testing/model-store.js'

const failure = (id: string, harness: unknown): Promise<Error> =>
  failureOf(storeCases, id, harness as StoreHarness)

const advance = async (): Promise<void> => {}

afterEach(() => {
  vi.useRealTimers()
})

let mostTrips = 0

/** A store without single trips: it reads, and writes if no one else has written meanwhile, as DynamoDB does. */
function conditionalWrites(): StoreHarness {
  const records = new Map<string, KeyRecord>()
  let now = 0
  const someTurns = (): Promise<void> => turns(Math.floor(Math.random() * 2))

  async function answer<Answer>(call: KeyedCall): Promise<Answer> {
    for (let trips = 2; ; trips += 2) {
      const read = records.get(call.key)
      await someTurns()
      const { record, answer } = transition(read, call, now)
      mostTrips = Math.max(mostTrips, trips)
      const isWritten = records.get(call.key) === read
      if (isWritten && record !== undefined) records.set(call.key, record)
      await someTurns()
      if (isWritten) return answer as Answer
    }
  }

  const create = async (): Promise<IdempotencyStore> => ({
    claim: (request) => answer({ do: 'claim', ...request }),
    renew: (lease, leaseMs) => answer({ do: 'renew', ...lease, leaseMs }),
    complete: (lease, retainMs) => answer({ do: 'complete', ...lease, retainMs }),
    release: (lease) => answer({ do: 'release', ...lease }),
  })
  return {
    create,
    createSecond: create,
    async purge() {
      const old = [...records].filter(([, { expiresAt }]) => expiresAt <= now)
      for (const [key, read] of old) {
        await someTurns()
        if (records.get(key) === read) records.delete(key)
      }
    },
    advance: async (ms) => {
      now += ms
    },
  }
}

// Our stores run the cases in test/stores.
test('the cases pass on a store of conditional writes, as the contract does not ask for one trip', async () => {
  const harness = conditionalWrites()
  for (const { run } of storeCases) await run(harness)
  // A write that came too late costs two more.
  expect(mostTrips).toBeGreaterThan(2)
})

test('the cases pass on a store whose records end with the process: it has no second client', async () => {
  let now = 0
  const create = async () => memoryStore({ now: () => now })
  const advance = async (ms: number) => {
    now += ms
  }
  for (const { run } of storeCases) await run({ create, advance })
})

describe('a failure', () => {
  test('has what was expected, what came, and the steps that led to it', async () => {
    const { message } = await failure(
      'claim-takeover',
      storeHarness(() => ({
        decide: (record, call, now) =>
          transition(record && { ...record, leaseUntil: Math.max(record.leaseUntil, now + 1) }, call, now),
      })),
    )
    expect(message.split('\n')).toEqual([
      'case claim-takeover: claim by b (step 5): expected {"status":"claimed","attempt":2}, but it returned {"status":"in_flight","retryAfterMs":1}.',
      'A store MUST grant a record to another token when its lease has run out.',
      '  1. claim by a → {"status":"claimed","attempt":1}',
      '  2. 25 min pass',
      '  3. claim by b → {"status":"in_flight","retryAfterMs":300000}',
      '  4. 10 min pass',
      '  5. claim by b → {"status":"in_flight","retryAfterMs":1}',
    ])
  })

  test('names the client that made a step, and how far its clock is ahead', async () => {
    const NOW = Date.UTC(2026, 4, 17)
    vi.useFakeTimers({ now: NOW, toFake: ['Date'] })
    const { message } = await failure(
      'clock-ahead',
      storeHarness((right) => ({ now: () => right.now() + Date.now() - NOW })),
    )
    expect(message).toContain(
      '\n  2. claim by b for 3 min, kept 3 min on the second client, whose clock is 4 min ahead → {"status":"claimed","attempt":1}',
    )
    expect(Date.now()).toBe(NOW)
  })

  test('of a race counts the answers', async () => {
    const { message } = await failure(
      'race-fresh',
      storeHarness(() => ({ decide: (_, call, now) => transition(undefined, call, now) })),
    )
    expect(message).toContain(
      'expected 1 × {"status":"claimed","attempt":1} and 23 × {"status":"in_flight","retryAfterMs":1740000 to 1800000}, but they returned 24 × {"status":"claimed","attempt":1}',
    )
  })

  test('of a random history names the step that differs from the model, and is the same each time', async () => {
    const forgetful = (): StoreHarness => storeHarness(() => ({ renew: async () => false }))
    const { message } = await failure('histories', forgetful())
    expect(message).toMatch(
      /^case histories: renew by [abcd] of key [123].* \(step (\d+)\): expected true, but it returned false\.\n/,
    )
    expect(message).toMatch(/\n {2}1\. .*\n {2}2\. /)
    expect((await failure('histories', forgetful())).message).toBe(message)
  })

  test.each<[string, unknown, string]>([
    ['text for a number', { status: 'claimed', attempt: '1' }, '{"status":"claimed","attempt":"1"}'],
    ['a bigint', { status: 'claimed', attempt: 1n }, '{"status":"claimed","attempt":"bigint 1"}'],
    ['no number', { status: 'claimed', attempt: Number.NaN }, '{"status":"claimed","attempt":"number NaN"}'],
    ['nothing', undefined, 'undefined'],
    ['null', null, 'null'],
    ['what JSON lacks', circular(), '[object Object]'],
  ])('shows that a store returned %s', async (_, answer, told) => {
    const store = { ...memoryStore(), claim: async () => answer }
    const { message } = await failure('claim-fresh', { create: async () => store, advance })
    expect(message).toContain(`expected {"status":"claimed","attempt":1}, but it returned ${told}.`)
  })

  const cause = new Error('connection refused')

  test.each([
    ['rejects', async () => Promise.reject(cause)],
    [
      'throws',
      () => {
        throw cause
      },
    ],
  ])('of a store that %s has the cause', async (_, claim) => {
    const found = await failure('claim-fresh', { create: async () => ({ ...memoryStore(), claim }), advance })
    expect(found.message).toContain('case claim-fresh: claim by a was rejected: connection refused.\n')
    expect(found.cause).toBe(cause)
  })

  test('of a harness that rejects names its function, or is that error', async () => {
    const create = async () => memoryStore()
    const { message } = await failure('claim-takeover', { create, advance: () => Promise.reject(cause) })
    expect(message).toContain('25 min pass was rejected: connection refused')
    expect(await failure('claim-fresh', { create: () => Promise.reject(cause), advance })).toBe(cause)
  })

  test('of a second client with a backend of its own names it', async () => {
    const create = async () => modelStore(createBackend())
    const { message } = await failure('client-records', { create, createSecond: create, advance })
    expect(message).toContain(
      'claim by b on the second client (step 2): expected {"status":"in_flight","retryAfterMs":1740000 to 1800000}, but it returned {"status":"claimed","attempt":1}.',
    )
  })
})

describe('anything but a harness is refused with what to pass:', () => {
  const create = async () => memoryStore()
  const store = modelStore(createBackend())
  const creating = (created: unknown) => ({ create: async () => created, advance })

  test.each<[string, unknown, string, string?]>([
    ['nothing', undefined, 'The harness has no create function: pass { create, advance }'],
    ['a store', memoryStore(), 'The harness has no create function'],
    ['one without advance', { create }, 'The harness has no advance function: pass { create, advance }'],
    ['one whose createSecond is no function', { create, advance, createSecond: {} }, 'createSecond must be'],
    ['one whose purge is no function', { create, advance, purge: {} }, 'purge must be a function, or absent'],
    ['one that creates nothing', creating(undefined), 'something without a claim function'],
    [
      'one that creates no whole store',
      creating({ ...memoryStore(), renew: undefined }),
      'something without a renew function: it must resolve to an IdempotencyStore',
    ],
    ['one without a second client', creating(store), 'no createSecond function: add one', 'race-fresh'],
    [
      'one whose second client is the first',
      { ...creating(store), createSecond: async () => store },
      'resolved to the store of create()',
      'race-fresh',
    ],
  ])('%s', async (_, harness, what, id = 'claim-fresh') => {
    const refusal = await failure(id, harness)
    expect(refusal).toBeInstanceOf(TypeError)
    expect(refusal.message).toContain(what)
  })
})

function circular(): object {
  const one: { self?: object; status: string } = { status: 'claimed' }
  one.self = one
  return one
}
