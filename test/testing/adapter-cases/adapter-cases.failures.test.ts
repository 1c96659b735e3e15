import type { WebhookOptions } from 'tix-webhooks'
import type { AdapterAnswer } from 'tix-webhooks/testing'
import { describe, expect, test } from 'vitest'
import { never } from '../../support/promises.js'
import { counted, failureOf, HANDLED } from '../../support/testing/adapter-cases.js'
import { harnessOf, PlainAdapter } from '../../support/testing/plain-adapter.js'

describe('a failure', () => {
  test('says what was expected, what came, what the receiver reported, and what an adapter must do', async () => {
    class Rewriting extends PlainAdapter {
      override bodyOf(request: Request) {
        return async () => new TextEncoder().encode(JSON.stringify(await request.json()))
      }
    }
    const { message } = await failureOf('body-spacing', harnessOf(Rewriting))
    expect(message.split('\n')).toEqual([
      expect.stringMatching(
        /^case body-spacing: JSON with odd spacing and escapes: expected 200 {"outcome":"handled"} with content-type: application\/json, but got 401 {"outcome":"unauthenticated"} with content-type: application\/json\. The receiver reported: .*signature.*\.$/,
      ),
      'An adapter MUST pass on the exact bytes, whatever the spacing, escapes and line ends.',
    ])
  })

  test.each<[string, string, AdapterAnswer, string]>([
    [
      'another status',
      'answer-handled',
      { ...HANDLED, status: 201 },
      'expected 200 {"outcome":"handled"} with content-type: application/json, but got 201 {"outcome":"handled"} with content-type: application/json',
    ],
    [
      'no content-type',
      'answer-handled',
      { ...HANDLED, headers: {} },
      'but got 200 {"outcome":"handled"} with no content-type',
    ],
    [
      'no Retry-After',
      'answer-retry-later',
      { ...HANDLED, status: 503, text: '{"outcome":"retry_later"}' },
      'expected 503 {"outcome":"retry_later"} with content-type: application/json and retry-after: 123, but got 503 {"outcome":"retry_later"} with content-type: application/json',
    ],
    [
      'no body',
      'answer-handled',
      { ...HANDLED, text: '' },
      'but got 200 (no body) with content-type: application/json',
    ],
    [
      'a page for a body',
      'answer-handled',
      { ...HANDLED, text: `<html>${' '.repeat(100_000)}` },
      `but got 200 <html>${' '.repeat(194)}… with`,
    ],
    [
      'the secret in a header',
      'answer-handled',
      { ...HANDLED, headers: { ...HANDLED.headers, 'x-debug': 'key whsec_of_the_adapter_cases' } },
      'expected headers that reveal nothing, but got x-debug: key whsec_of_the_adapter_cases',
    ],
    [
      'a handler that did not run',
      'answer-handled',
      HANDLED,
      'expected the handler to run 1 ×, but it ran 0 ×',
    ],
  ])('names %s', async (_, id, answer, told) => {
    const { message } = await failureOf(id, counted({ send: async () => answer }).harness)
    expect(message).toContain(`case ${id}: `)
    expect(message).toContain(told)
  })

  test('names different bytes, and a different event', async () => {
    const tamper = (change: (body: Uint8Array) => Uint8Array) =>
      class extends PlainAdapter {
        override optionsOf(options: WebhookOptions): WebhookOptions {
          const handle = options.on['order.created'] as (event: object, ctx: object) => unknown
          const on = {
            'order.created': (event: object, ctx: { rawBody: Uint8Array }) =>
              handle({ ...event, added: 1 }, { ...ctx, rawBody: change(ctx.rawBody) }),
          }
          return { ...options, on } as WebhookOptions
        }
      }
    for (const change of [
      (body: Uint8Array) => body.subarray(1),
      (body: Uint8Array) => body.map((byte, index) => (index === 5 ? byte ^ 1 : byte)),
    ]) {
      const { message } = await failureOf('body-names', harnessOf(tamper(change)))
      expect(message).toMatch(
        /expected ctx\.rawBody to be the \d+ bytes that were sent, but it was \d+ bytes that differ/,
      )
    }
    const added = await failureOf('body-names', harnessOf(tamper((body) => body)))
    expect(added.message).toMatch(/expected the event {.*…, but it was {.*…\.\n/)
  })

  test('of a client that rejects says so, and keeps the cause', async () => {
    const cause = new Error('socket hang up')
    const failure = await failureOf('answer-handled', counted({ send: () => Promise.reject(cause) }).harness)
    expect(failure.message).toContain(
      'case answer-handled: an order: expected an answer, but it was rejected: socket hang up.\n',
    )
    expect(failure.cause).toBe(cause)
  })

  test('of an app that never answers comes in time', async () => {
    const { harness, count } = counted({ send: () => never() }, 0.05)
    expect((await failureOf('answer-handled', harness)).message).toContain(
      'case answer-handled: an order: expected an answer, but there was none within 0.05 s.\n',
    )
    expect(count).toEqual({ mounted: 1, closed: 1 })
  })

  test('of a mount that rejects is that error', async () => {
    const refused = new Error('no such port')
    expect(await failureOf('answer-handled', { mount: () => Promise.reject(refused) })).toBe(refused)
  })

  test.each<[string, () => Promise<unknown>, string]>([
    ['rejects', () => Promise.reject(new Error('still open')), ', but it was rejected: still open'],
    ['never ends', () => never(), ', but there was none within 0.1 s'],
  ])('names a close that %s, if nothing else failed', async (_, close, told) => {
    const closing = counted({ close }, 0.1)
    const { message } = await failureOf('answer-handled', closing.harness)
    expect(message).toContain(`case answer-handled: expected the app to close${told}.\n`)
    const both = counted({ close, send: async () => ({ ...HANDLED, status: 404 }) }, 0.1)
    expect((await failureOf('answer-handled', both.harness)).message).toContain('but got 404')
  })
})
