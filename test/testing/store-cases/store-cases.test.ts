import { memoryStore } from 'tix-webhooks'
import { type StoreHarness, storeCases } from 'tix-webhooks/testing'
import { describe, expect, test } from 'vitest'
import { harnessOf } from '../../support/testing/faulty-stores.js'
import { PlainStore } from '../../support/testing/plain-store.js'
import { versionedHarness } from '../../support/testing/versioned-store.js'

/** A memory store that all cases share, as they share a database. Its clock has fractions, and advances by itself as a real one. */
function sharedMemoryStore(): StoreHarness {
  let now = 1_790_000_000_000.123
  const store = memoryStore({
    now: () => {
      now += 0.1
      return now
    },
  })
  return {
    create: async () => store,
    createSecond: async () => ({ ...store }),
    advance: async (ms) => {
      now += ms
    },
  }
}

const versioned = versionedHarness()

describe.each([
  ['a memory store', sharedMemoryStore()],
  ['the store whose decisions the faulty ones get wrong', harnessOf(PlainStore)],
  ['a store of conditional writes', versioned],
])('%s', (_, harness) => {
  test.each(storeCases.map(({ id, name, run }) => [id, name, run] as const))('%s: it %s', (_id, _name, run) =>
    run(harness),
  )
})

// The contract does not ask for one trip: a write that came too late costs two more.
test('the store of conditional writes makes several trips for a call', () => {
  expect(versioned.mostTrips()).toBeGreaterThanOrEqual(3)
})

describe('the cases', () => {
  test('have ids that are short and differ', () => {
    const ids = storeCases.map(({ id }) => id)
    expect(new Set(ids).size).toBe(ids.length)
    expect(ids.filter((id) => !/^[a-z]+(-[a-z]+){0,3}$/.test(id) || id.length > 24)).toEqual([])
  })

  test('have names that are sentences of what a store MUST or SHOULD do', () => {
    const names = storeCases.map(({ name }) => name)
    expect(new Set(names).size).toBe(names.length)
    expect(names.filter((name) => !/^(MUST|MUST NOT|SHOULD) [a-z].+\.$/.test(name))).toEqual([])
  })

  // Users pin results to these ids, so none may disappear. A new case is added to the list.
  test('are still those that were published', () => {
    expect(storeCases.map(({ id }) => id)).toMatchInlineSnapshot(`
      [
        "claim-fresh",
        "claim-held",
        "claim-held-kept",
        "claim-completed",
        "claim-released",
        "claim-takeover",
        "claim-attempts",
        "claim-terms",
        "claim-resent",
        "claim-resent-lease",
        "claim-resent-late",
        "claim-resent-released",
        "claim-resent-taken-over",
        "claim-resent-completed",
        "renew-holder",
        "renew-shorter",
        "renew-late",
        "renew-stranger",
        "renew-taken-over",
        "renew-released",
        "renew-completed",
        "renew-absent",
        "complete-resent",
        "complete-late",
        "complete-stranger",
        "complete-taken-over",
        "complete-released",
        "complete-absent",
        "complete-absent-taken",
        "release-resent",
        "release-late",
        "release-stranger",
        "release-taken-over",
        "release-completed",
        "release-absent",
        "retention-completion",
        "retention-over",
        "retention-terms",
        "retention-duplicate",
        "retention-strangers",
        "retention-resent",
        "retention-takeover",
        "retention-resent-claim",
        "retention-renewal",
        "retention-held",
        "retention-released",
        "retention-over-running",
        "retention-over-released",
        "retention-over-completed",
        "retention-long",
        "terms-fraction",
        "key-apart",
        "key-token",
        "key-long",
        "key-case",
        "key-ascii",
        "key-prefix",
        "key-spaces",
        "token-long",
        "token-exact",
        "token-ascii",
        "key-forbidden",
        "call-frozen",
        "call-fields",
        "client-records",
        "clock-ahead",
        "clock-behind",
        "purge-running",
        "purge-released",
        "purge-completed",
        "race-fresh",
        "race-takeover",
        "race-released",
        "race-forgotten",
        "race-resent",
        "race-settle",
        "race-late-renew",
        "race-late-complete",
        "race-late-release",
        "race-absent-complete",
        "race-purge",
        "histories",
      ]
    `)
  })
})
