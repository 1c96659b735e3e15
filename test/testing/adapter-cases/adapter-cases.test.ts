import { adapterCases } from 'tix-webhooks/testing'
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
        "attack-missing-header",
        "attack-malformed-header",
        "attack-tampered",
        "attack-rewritten",
        "attack-wrong-secret",
        "attack-stale",
        "attack-future",
        "attack-truncated",
        "attack-other-endpoint",
        "attack-empty",
        "attack-not-json",
        "attack-not-envelope",
        "attack-duplicate",
        "attack-burst",
        "attack-unknown-kind",
      ]
    `)
  })
})
