import { type Failures, memoryFailures } from 'tix-webhooks'
import { type FailureHarness, failureCases } from 'tix-webhooks/testing'
import { describe, expect, test } from 'vitest'
import { failureOf } from '../support/testing/failure-of.js'

const failure = (id: string, harness: unknown): Promise<Error> =>
  failureOf(failureCases, id, harness as FailureHarness)

const harnessWith = (wrong: Partial<Record<keyof Failures, unknown>>) => ({
  create: async () => ({ ...memoryFailures(), ...wrong }),
})

test('the cases need neither a second client nor a purge', async () => {
  for (const { run } of failureCases) await run({ create: async () => memoryFailures() })
})

describe('a failure of a case', () => {
  test('has what was expected, what came, and the calls that led to it', async () => {
    const { message } = await failure('delete', harnessWith({ delete: async () => true }))
    expect(message.split('\n')).toEqual([
      "case delete: delete '1': expected false, but it returned true.",
      'Failures MUST delete one failure, and return whether there was one.',
      "  1. get '1' → undefined",
      "  2. delete '1' → true",
    ])
  })

  test('names the field that differs', async () => {
    const failures = memoryFailures()
    const get = async (key: string) => ({ ...(await failures.get(key)), attempts: '1' })
    const { message } = await failure('keep-new', harnessWith({ ...failures, get }))
    expect(message).toContain("case keep-new: get '1': expected attempts to be 1, but it is '1'.\n")
  })

  test.each<[string, unknown, string]>([
    ['no list', undefined, 'expected an array, but it returned undefined'],
    ['another key', [{ key: 'k' }], "expected those of '1', '2', but it returned 'k'"],
    ['nothing', [], "expected those of '1', '2', but it returned no key"],
  ])('shows that a list returned %s', async (_, answer, told) => {
    const { message } = await failure('list-fields', harnessWith({ list: async () => answer }))
    expect(message).toContain(`case list-fields: list {  }: ${told}.\n`)
  })

  test('of a call that rejects has the cause', async () => {
    const cause = new Error('connection refused')
    const found = await failure('keep-new', harnessWith({ keep: () => Promise.reject(cause) }))
    expect(found.message).toContain("case keep-new: keep '1' was rejected: connection refused.\n")
    expect(found.cause).toBe(cause)
    expect(await failure('keep-new', { create: () => Promise.reject(cause) })).toBe(cause)
  })

  test('names the client that made a call', async () => {
    const gone = { ...memoryFailures(), delete: async () => false }
    const createSecond = async () => ({ ...gone })
    const { message } = await failure('race-deletes', { create: async () => gone, createSecond })
    expect(message).toContain("  3. delete '0' by the second client → false")
  })
})

const create = async () => memoryFailures()
const half = async () => ({ ...memoryFailures(), count: 5 })

test.each<[string, unknown, string]>([
  ['nothing', undefined, 'The harness has no create function: pass { create }'],
  ['failures', memoryFailures(), 'The harness has no create function: pass { create }'],
  ['one with failures to purge', { create, purge: memoryFailures() }, 'purge must be a function'],
  ['one that creates nothing', { create: async () => undefined }, 'something without a keep function'],
  [
    'one whose second has no count',
    { create, createSecond: half },
    'createSecond() resolved to something without a count function: it must resolve to Failures (keep, get',
  ],
])('%s is refused with what to pass', async (_, harness, told) => {
  const refusal = await failure('keep-new', harness)
  expect(refusal).toBeInstanceOf(TypeError)
  expect(refusal.message).toContain(told)
})
