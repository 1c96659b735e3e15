/** @module-tag slow */
import type { WebhookOptions } from 'tix-webhooks'
import { type AdapterAnswer, type AdapterHarness, adapterCases } from 'tix-webhooks/testing'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { never } from '../support/promises.js'
import { failureOf } from '../support/testing/failure-of.js'
import { adapterHarness, delivering } from '../support/testing/faulty-adapters.js'

/** A right answer to what is handled. */
const HANDLED: AdapterAnswer = {
  status: 200,
  headers: { 'content-type': 'application/json' },
  text: '{"outcome":"handled"}',
}

/** Apps that are counted, with something in the place of their parts. */
function counted(parts: { send?: () => Promise<unknown>; close?: () => unknown } = {}, timeoutSeconds = 4) {
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

const failure = (id: string, harness: unknown): Promise<Error> =>
  failureOf(adapterCases, id, harness as AdapterHarness)

const failureWith = (id: string, send: () => Promise<unknown>): Promise<Error> =>
  failure(id, counted({ send }).harness)

afterEach(() => {
  vi.restoreAllMocks()
  vi.unstubAllEnvs()
})

// Our adapters run the cases in test/adapters/conformance.test.ts.
test('the cases pass on a correct adapter, close it, and print nothing, in production too', async () => {
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
  ['the client rejects', () => Promise.reject(new Error('socket hang up'))],
  ['the client returns no answer', async () => undefined],
])('what a case mounts is closed if %s', async (_, send) => {
  for (const { id, run } of adapterCases) {
    const { harness, count } = counted({ send })
    await run(harness).catch(() => {})
    expect([id, count.closed]).toEqual([id, count.mounted])
    expect(count.mounted).toBeGreaterThan(0)
  }
})

test.each<[string, (headers: Record<string, string>) => AdapterAnswer['headers']]>([
  ['as Headers', (headers) => new Headers(headers)],
  [
    'with names in capitals, and numbers',
    (headers) => {
      const given = Object.entries(headers).map(([name, value]) => [
        name.toUpperCase(),
        name === 'retry-after' ? Number(value) : [value],
      ])
      return { ...Object.fromEntries(given), 'x-none': undefined }
    },
  ],
  ['with a charset', (headers) => ({ ...headers, 'content-type': 'application/json; charset=utf-8' })],
])('headers are read %s', async (_, give) => {
  const correct = adapterHarness()
  const harness: AdapterHarness = {
    async mount(options) {
      const { send, close } = await correct.mount(options)
      const giving = async (delivery: Parameters<typeof send>[0]): Promise<AdapterAnswer> => {
        const answer = await send(delivery)
        return { ...answer, headers: give(answer.headers as Record<string, string>) }
      }
      return { send: giving, close }
    },
  }
  expect((await failure('answer-retry-later', harness)).message).toBe('answer-retry-later did not fail')
})

describe('a failure', () => {
  test('has what was expected, what came, what the receiver reported, and what an adapter must do', async () => {
    const { message } = await failure(
      'body-spacing',
      adapterHarness(
        delivering((_, request) => ({ body: async () => Buffer.from(JSON.stringify(await request.json())) })),
      ),
    )
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
      'with content-type: application/json and retry-after: 123, but got 503 {"outcome":"retry_later"} with content-type: application/json',
    ],
    ['no body', 'answer-handled', { ...HANDLED, text: '' }, 'but got 200 (no body) with content-type'],
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
    ['a handler that did not run', 'answer-handled', HANDLED, 'handler to run 1 ×, but it ran 0 ×'],
  ])('names %s', async (_, id, answer, told) => {
    const { message } = await failureWith(id, async () => answer)
    expect(message).toContain(`case ${id}: `)
    expect(message).toContain(told)
  })

  test.each<[string, (body: Uint8Array) => Uint8Array, RegExp]>([
    ['fewer bytes', (body) => body.subarray(1), /rawBody to be the \d+ bytes that were sent, but it was \d+/],
    ['other bytes', (body) => body.map((byte, at) => (at === 5 ? byte ^ 1 : byte)), /bytes that differ/],
    ['a different event', (body) => body, /expected the event {.*…, but it was {.*…\.\n/],
  ])('names %s', async (_, change, told) => {
    const changed = (options: WebhookOptions) => {
      const handle = options.on['order.created'] as (event: object, ctx: object) => unknown
      const on = {
        'order.created': (event: object, ctx: { rawBody: Uint8Array }) =>
          handle({ ...event, added: 1 }, { ...ctx, rawBody: change(ctx.rawBody) }),
      }
      return { ...options, on } as WebhookOptions
    }
    const { message } = await failure(
      'body-names',
      adapterHarness((right) => ({ receiverOf: (options) => right.receiverOf(changed(options)) })),
    )
    expect(message).toMatch(told)
  })

  test('of a client or a mount that rejects has the cause', async () => {
    const cause = new Error('socket hang up')
    const found = await failureWith('answer-handled', () => Promise.reject(cause))
    expect(found.message).toContain(
      'case answer-handled: an order: expected an answer, but it was rejected: socket hang up.\n',
    )
    expect(found.cause).toBe(cause)
    expect(await failure('answer-handled', { mount: () => Promise.reject(cause) })).toBe(cause)
  })

  test('of an app that never answers comes in time', async () => {
    const { harness, count } = counted({ send: () => never() }, 0.05)
    expect((await failure('answer-handled', harness)).message).toContain(
      'case answer-handled: an order: expected an answer, but there was none within 0.05 s.\n',
    )
    expect(count).toEqual({ mounted: 1, closed: 1 })
  })

  test.each<[string, () => Promise<unknown>, string]>([
    ['rejects', () => Promise.reject(new Error('still open')), ', but it was rejected: still open'],
    ['never ends', () => never(), ', but there was none within 0.1 s'],
  ])('names a close that %s, if nothing else failed', async (_, close, told) => {
    const { message } = await failure('answer-handled', counted({ close }, 0.1).harness)
    expect(message).toContain(`case answer-handled: expected the app to close${told}.\n`)
    const both = counted({ close, send: async () => ({ ...HANDLED, status: 404 }) }, 0.1)
    expect((await failure('answer-handled', both.harness)).message).toContain('but got 404')
  })
})

const { harness: right } = counted()
const mounting = (mounted: unknown) => ({ mount: async () => mounted })
const sending = (answer: unknown) => counted({ send: async () => answer }).harness

test.each<[string, unknown, string]>([
  ['nothing', undefined, 'The harness has no mount function: pass { mount }'],
  ['an adapter', () => {}, 'The harness has no mount function: pass { mount }'],
  ['a timeoutSeconds of 0', { ...right, timeoutSeconds: 0 }, 'must be a number of seconds above 0'],
  ['a timeoutSeconds of text', { ...right, timeoutSeconds: '5' }, 'must be a number of seconds above 0'],
  ['a mount of nothing', mounting(undefined), 'without a send function: it must resolve to { send, close }'],
  ['a mount of a client', mounting({ send: () => {} }), 'without a close function'],
  ['a send of nothing', sending(undefined), 'it must resolve to { status, headers, text }'],
  ['a send of a Response', sending(new Response()), 'it must resolve to { status, headers, text }'],
  ['no headers', sending({ status: 200, text: '' }), 'it must resolve to { status, headers, text }'],
  ['a status as text', sending({ ...HANDLED, status: '200' }), 'resolve to { status, headers, text }'],
])('a harness with %s is refused with what to pass', async (_, harness, told) => {
  const refusal = await failure('answer-handled', harness)
  expect(refusal).toBeInstanceOf(TypeError)
  expect(refusal.message).toContain(told)
})
