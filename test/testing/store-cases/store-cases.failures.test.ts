import { type IdempotencyStore, memoryStore } from 'tix-webhooks'
import { type StoreHarness, storeCases } from 'tix-webhooks/testing'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { harnessOf } from '../../support/testing/faulty-stores.js'
import { PlainStore } from '../../support/testing/plain-store.js'

/** Why a case fails on a harness. */
async function failureOf(id: string, harness: StoreHarness): Promise<Error> {
  const one = storeCases.find((candidate) => candidate.id === id)
  if (one === undefined) throw new Error(`there is no case ${id}`)
  return one.run(harness).then(
    () => new Error(`${id} did not fail`),
    (error: Error) => error,
  )
}

afterEach(() => {
  vi.useRealTimers()
})

const NOW = Date.UTC(2026, 4, 17)

const advance = async (): Promise<void> => {}

describe('a failure', () => {
  test('says what was expected, what came, and the steps that led to it', async () => {
    class NeverTakesOver extends PlainStore {
      override isLive(): boolean {
        return true
      }
    }
    const { message } = await failureOf('claim-takeover', harnessOf(NeverTakesOver))
    expect(message.split('\n')).toEqual([
      'case claim-takeover: claim by b (step 5): expected {"status":"claimed","attempt":2}, but it returned {"status":"in_flight","retryAfterMs":-300000}.',
      'A store MUST grant a record to another token when its lease has run out.',
      '  1. claim by a → {"status":"claimed","attempt":1}',
      '  2. 25 min pass',
      '  3. claim by b → {"status":"in_flight","retryAfterMs":300000}',
      '  4. 10 min pass',
      '  5. claim by b → {"status":"in_flight","retryAfterMs":-300000}',
    ])
  })

  test('says which client made a step, and how far its clock is ahead', async () => {
    class CallersClock extends PlainStore {
      override isLive({ leaseUntil }: Parameters<PlainStore['isLive']>[0]): boolean {
        return leaseUntil > this.now + (Date.now() - NOW)
      }
    }
    vi.useFakeTimers({ now: NOW, toFake: ['Date'] })
    const { message } = await failureOf('clock-ahead', harnessOf(CallersClock))
    expect(message).toContain(
      '\n  2. claim by b for 3 min, kept 3 min on the second client, whose clock is 4 min ahead → {"status":"claimed","attempt":2}',
    )
    expect(Date.now()).toBe(NOW)
  })

  test('says the range where an exact time cannot be expected', async () => {
    class Stingy extends PlainStore {
      override isLive(): boolean {
        return false
      }
    }
    const { message } = await failureOf('claim-held', harnessOf(Stingy))
    expect(message).toContain(
      'expected {"status":"in_flight","retryAfterMs":1740000 to 1800000}, but it returned {"status":"claimed","attempt":2}.',
    )
  })

  test('of a race counts the answers', async () => {
    class GrantsTwice extends PlainStore {
      claims = 0

      override isLive(...record: Parameters<PlainStore['isLive']>): boolean {
        this.claims += 1
        return this.claims > 1 && super.isLive(...record)
      }

      override nextAttempt(): number {
        return 1
      }
    }
    const { message } = await failureOf('race-fresh', harnessOf(GrantsTwice))
    expect(message).toContain('expected 1 × {"status":"claimed","attempt":1} and 23 × {"status":"in_flight"')
    // One by the first client and two by the second, which this store takes for another backend.
    expect(message).toContain('but they returned 3 × {"status":"claimed","attempt":1} and 21 × ')
  })

  test('of a random history names the step where the store and the model part, and is the same each time', async () => {
    class Forgetful extends PlainStore {
      override async renew(): Promise<boolean> {
        return false
      }
    }
    const { message } = await failureOf('histories', harnessOf(Forgetful))
    expect(message).toMatch(
      /^case histories: renew by [abcd] of key [123].* \(step (\d+)\): expected true, but it returned false\.\n/,
    )
    expect(message).toMatch(/\n {2}1\. .*\n {2}2\. /)
    expect((await failureOf('histories', harnessOf(Forgetful))).message).toBe(message)
  })

  test.each<[string, unknown, string]>([
    ['text for a number', { status: 'claimed', attempt: '1' }, '{"status":"claimed","attempt":"1"}'],
    [
      'a bigint for a number',
      { status: 'claimed', attempt: 1n },
      '{"status":"claimed","attempt":"bigint 1"}',
    ],
    ['no number', { status: 'claimed', attempt: Number.NaN }, '{"status":"claimed","attempt":"number NaN"}'],
    ['a number for an object', 1, '1'],
    ['nothing', undefined, 'undefined'],
    ['null', null, 'null'],
    ['what JSON cannot say', circular(), '[object Object]'],
  ])('shows that a store gave %s', async (_, answer, told) => {
    const store = { ...memoryStore(), claim: async () => answer } as unknown as IdempotencyStore
    const { message } = await failureOf('claim-fresh', { create: async () => store, advance })
    expect(message).toContain(`expected {"status":"claimed","attempt":1}, but it returned ${told}.`)
  })

  test.each([
    ['rejects', async () => Promise.reject(new Error('connection refused'))],
    [
      'throws',
      () => {
        throw new Error('connection refused')
      },
    ],
  ])('of a store that %s says so, and keeps the cause', async (_, claim) => {
    const store = { ...memoryStore(), claim }
    const { message, cause } = await failureOf('claim-fresh', { create: async () => store, advance })
    expect(message).toContain('case claim-fresh: claim by a was rejected: connection refused.\n')
    expect(cause).toEqual(new Error('connection refused'))
  })

  test('of an advance that rejects says so', async () => {
    const harness: StoreHarness = {
      create: async () => memoryStore(),
      advance: async () => {
        throw new Error('no such table')
      },
    }
    const { message } = await failureOf('claim-takeover', harness)
    expect(message).toContain('25 min pass was rejected: no such table')
  })

  test('of a create that rejects is that error', async () => {
    const create = async (): Promise<IdempotencyStore> => {
      throw new Error('no server')
    }
    expect(await failureOf('claim-fresh', { create, advance })).toEqual(new Error('no server'))
  })
})

describe('anything but a harness is refused with what to pass', () => {
  const create = async (): Promise<IdempotencyStore> => memoryStore()

  test.each<[string, unknown, string]>([
    ['nothing', undefined, 'no create function'],
    ['a store', memoryStore(), 'no create function'],
    ['one without create', { advance }, 'no create function'],
    ['one without advance', { create }, 'no advance function'],
  ])('%s', async (_, harness, what) => {
    for (const { run } of storeCases) {
      const refusal = run(harness as StoreHarness)
      await expect(refusal).rejects.toThrow(TypeError)
      await expect(refusal).rejects.toThrow(`The harness has ${what}: pass { create, advance }`)
    }
  })

  test.each(['createSecond', 'purge'])('one whose %s is no function', async (name) => {
    const failure = await failureOf('claim-fresh', { create, advance, [name]: {} })
    expect(failure).toEqual(new TypeError(`The harness's ${name} must be a function, or absent.`))
  })

  test.each<[string, unknown, string]>([
    ['one that creates nothing', undefined, 'claim'],
    ['one that creates a client', { get: () => {}, set: () => {} }, 'claim'],
    ['one that creates a store without renew', { ...memoryStore(), renew: undefined }, 'renew'],
  ])('%s', async (_, created, method) => {
    const failure = await failureOf('claim-fresh', {
      create: async () => created as IdempotencyStore,
      advance,
    })
    expect(failure).toBeInstanceOf(TypeError)
    expect(failure.message).toContain(
      `something without a ${method} function: it must resolve to an IdempotencyStore`,
    )
  })
})

describe('a harness without a second client', () => {
  const create = async (): Promise<IdempotencyStore> => new PlainStore()

  test('is told to add one', async () => {
    const failure = await failureOf('race-fresh', { create, advance })
    expect(failure).toBeInstanceOf(TypeError)
    expect(failure.message).toMatch(
      /^The harness has no createSecond function: add one .* isVolatile: true\.$/,
    )
  })

  test('is told so if its second client is the first', async () => {
    const store = new PlainStore()
    const harness = { create: async () => store, createSecond: async () => store, advance }
    expect((await failureOf('race-fresh', harness)).message).toContain('resolved to the store of create()')
  })

  test('is told so by a failure if the second has a backend of its own', async () => {
    const { message } = await failureOf('client-records', { create, createSecond: create, advance })
    expect(message).toContain(
      'claim by b on the second client (step 2): expected {"status":"in_flight","retryAfterMs":1740000 to 1800000}, but it returned {"status":"claimed","attempt":1}.',
    )
  })

  test('needs none if the records end with the process', async () => {
    let now = 0
    const harness: StoreHarness = {
      create: async () => memoryStore({ now: () => now }),
      advance: async (ms) => {
        now += ms
      },
    }
    for (const { run } of storeCases) await run(harness)
  })
})

function circular(): object {
  const one: { self?: object; status: string } = { status: 'claimed' }
  one.self = one
  return one
}
