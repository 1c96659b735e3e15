import { adapterCases, SCENARIOS } from 'tix-webhooks/testing'
import { describe, expect, test } from 'vitest'

// Our adapters run them in test/adapters/conformance.test.ts.
describe('the cases', () => {
  test('have ids that are short and differ', () => {
    const ids = adapterCases.map(({ id }) => id)
    expect(new Set(ids).size).toBe(ids.length)
    expect(ids.filter((id) => !/^[a-z]+(-[a-z]+){0,3}$/.test(id) || id.length > 24)).toEqual([])
  })

  test('have names that are sentences of what an adapter MUST or SHOULD do', () => {
    const names = adapterCases.map(({ name }) => name)
    expect(new Set(names).size).toBe(names.length)
    expect(names.filter((name) => !/^(MUST|MUST NOT|SHOULD) [a-z].+\.$/.test(name))).toEqual([])
  })

  test('have one for each scenario that must be refused', () => {
    const ids = new Set(adapterCases.map(({ id }) => id))
    const refused = SCENARIOS.filter(({ verdict }) => verdict === 'forged' || verdict === 'unusable')
    expect(refused.map(({ name }) => name).filter((name) => !ids.has(name))).toEqual([])
  })

  // Users pin results to these ids, so none may disappear. A new case is added to the list.
  test('are still those that were published', () => {
    expect(adapterCases.map(({ id }) => id)).toMatchInlineSnapshot(`
      [
        "body-spacing",
        "body-text",
        "body-names",
        "body-mark",
        "body-mark-unsigned",
        "body-bytes",
        "body-decoded",
        "content-type-text",
        "content-type-form",
        "content-type-multipart",
        "content-type-binary",
        "content-type-unknown",
        "content-type-nonsense",
        "content-type-none",
        "size-small",
        "size-large",
        "size-largest",
        "size-too-large",
        "size-limit",
        "size-bytes",
        "size-raised",
        "request-given",
        "request-own",
        "header-name",
        "header-signatures",
        "request-secrets",
        "request-options",
        "encoding-kept",
        "encoding-told",
        "answer-handled",
        "answer-duplicate",
        "answer-unhandled",
        "answer-discarded",
        "answer-failed",
        "answer-error",
        "answer-retry-later",
        "answer-unprocessable",
        "answer-misconfigured",
        "answer-in-flight",
        "answer-unavailable",
        "answer-timed-out",
        "together-answers",
        "together-apart",
        "missing-header",
        "malformed-header",
        "tampered-byte",
        "re-serialised-body",
        "wrong-secret",
        "stale",
        "future",
        "truncated",
        "other-endpoints-secret",
        "empty-body",
        "not-json",
        "not-an-envelope",
        "duplicate",
        "concurrent-burst",
        "unknown-kind",
      ]
    `)
  })
})
