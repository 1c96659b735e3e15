import { type Failures, memoryFailures } from 'tix-webhooks'
import { type FailureHarness, failureCases } from 'tix-webhooks/testing'
import { describe, expect, test } from 'vitest'

/** Why a case fails on a harness. */
async function failureOf(id: string, harness: FailureHarness): Promise<Error> {
  const one = failureCases.find((candidate) => candidate.id === id)
  if (one === undefined) throw new Error(`there is no case ${id}`)
  return one.run(harness).then(
    () => new Error(`${id} did not fail`),
    (error: Error) => error,
  )
}

const harnessOf = (wrong: Partial<Failures>): FailureHarness => ({
  create: async () => ({ ...memoryFailures(), ...wrong }),
})

describe('a failure of a case', () => {
  test('says what was expected, what came, and the calls that led to it', async () => {
    const { message } = await failureOf('delete', harnessOf({ delete: async () => true }))
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
    const { message } = await failureOf('keep-new', harnessOf({ ...failures, get: get as never }))
    expect(message).toContain("case keep-new: get '1': expected attempts to be 1, but it is '1'.\n")
  })

  test.each<[string, readonly unknown[], string]>([
    ['no list', [{}], 'expected an array, but it returned undefined'],
    ['another key', [[{ key: 'k' }]], "expected those of '1', '2', but it returned 'k'"],
    ['nothing', [[]], "expected those of '1', '2', but it returned no key"],
  ])('says that a list returned %s', async (_, [answer], told) => {
    const list = async () => (Array.isArray(answer) ? answer : undefined)
    expect((await failureOf('list-fields', harnessOf({ list: list as never }))).message).toContain(
      `case list-fields: list {  }: ${told}.\n`,
    )
  })

  test('of a call that rejects says so, and keeps the cause', async () => {
    const keep = async () => Promise.reject(new Error('connection refused'))
    const { message, cause } = await failureOf('keep-new', harnessOf({ keep }))
    expect(message).toContain("case keep-new: keep '1' was rejected: connection refused.\n")
    expect(cause).toEqual(new Error('connection refused'))
  })

  test('says which client made a call', async () => {
    const failures = memoryFailures()
    const gone = { ...failures, delete: async () => false }
    const { message } = await failureOf('race-deletes', {
      create: async () => gone,
      createSecond: async () => ({ ...gone }),
    })
    expect(message).toContain("  3. delete '0' by the second client → false")
  })

  test('of a create that rejects is that error', async () => {
    const create = async () => Promise.reject(new Error('no server'))
    expect(await failureOf('keep-new', { create })).toEqual(new Error('no server'))
  })
})

describe('anything but a harness is refused with what to pass', () => {
  const create = async () => memoryFailures()

  test.each<[string, unknown, string]>([
    ['nothing', undefined, 'The harness has no create function: pass { create }'],
    ['failures', memoryFailures(), 'The harness has no create function: pass { create }'],
    [
      'one with other failures to purge',
      { create, purge: memoryFailures() },
      "The harness's purge must be a function",
    ],
    [
      'one that creates nothing',
      { create: async () => undefined },
      'create() resolved to something without a keep function',
    ],
    [
      'one whose second has no count',
      { create, createSecond: async () => ({ ...memoryFailures(), count: 5 }) },
      'createSecond() resolved to something without a count function: it must resolve to Failures (keep, get',
    ],
  ])('%s', async (_, harness, told) => {
    const refusal = await failureOf('keep-new', harness as FailureHarness)
    expect(refusal).toBeInstanceOf(TypeError)
    expect(refusal.message).toContain(told)
  })
})

describe('the cases', () => {
  test('need neither a second client nor a purge', async () => {
    for (const { run } of failureCases) await run({ create: async () => memoryFailures() })
  })

  test('have ids that are short and differ', () => {
    const ids = failureCases.map(({ id }) => id)
    expect(new Set(ids).size).toBe(ids.length)
    expect(ids.filter((id) => !/^[a-z]+(-[a-z]+){0,3}$/.test(id) || id.length > 24)).toEqual([])
  })

  test('have names that are sentences of what failures MUST or SHOULD do', () => {
    const names = failureCases.map(({ name }) => name)
    expect(new Set(names).size).toBe(names.length)
    expect(names.filter((name) => !/^(MUST|MUST NOT|SHOULD) [a-z].+\.$/.test(name))).toEqual([])
  })

  // Users pin results to these ids, so none may disappear. A new case is added to the list.
  test('are still those that were published', () => {
    expect(failureCases.map(({ id }) => id)).toMatchInlineSnapshot(`
      [
        "keep-new",
        "keep-absent",
        "keep-again",
        "keep-dates",
        "keep-replays",
        "keep-replay-new",
        "delete",
        "keys",
        "park-attempts",
        "park-time",
        "park-both",
        "park-never",
        "park-limits",
        "park-late",
        "park-stays",
        "bytes-none",
        "bytes-any",
        "bytes-large",
        "bytes-view",
        "bytes-own",
        "text-any",
        "text-long",
        "text-odd",
        "list-fields",
        "list-order",
        "list-ties",
        "list-pages",
        "list-pages-oldest",
        "list-between",
        "list-limit",
        "list-filters",
        "list-all",
        "groups",
        "groups-filter",
        "groups-limit",
        "purge-retention",
        "purge-limit",
        "race-keep",
        "race-keys",
        "race-delete",
        "race-deletes",
        "invalid-list",
        "invalid-groups",
        "invalid-count",
      ]
    `)
  })
})
