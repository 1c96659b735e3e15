import fc from 'fast-check'
import { createReceiver, memoryStore, type WebhookOptions } from 'tix-webhooks'
import { envelopes, eventsOf, notEnvelopes } from 'tix-webhooks/testing/fast-check'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { lifecycleEvent, orderCreated, SECRET, sign } from '../../support/deliveries.js'
import { throws } from '../../support/promises.js'
import { strangeHeaders } from '../../support/signing.js'
import { jump } from '../../support/time-jumps.js'

afterEach(() => {
  vi.restoreAllMocks()
})

describe('the default report', () => {
  async function linesOf(
    payload: object | string,
    options: Partial<WebhookOptions>,
    log?: (line: string, thrown?: unknown) => void,
  ) {
    const printed = vi.spyOn(console, 'error').mockImplementation(() => {})
    const receiver = createReceiver({ secret: SECRET, on: { 'event.published': () => {} }, ...options })
    await receiver.receive({ ...(await sign(payload)), request: null, log })
    return printed.mock.calls
  }

  const failing = (message: string): Partial<WebhookOptions> => ({
    on: { 'order.created': throws(new Error(message, { cause: 'the cause' })) },
  })

  test('of what a handler threw is the kind, the key and the message, then the stack with its causes, indented', async () => {
    const [text, ...others] = await linesOf(orderCreated({ id: 'ord_3' }), {
      on: {
        'order.created': function printTickets() {
          throw new Error('the printer is on fire', { cause: new TypeError('no paper') })
        },
      },
    })
    expect(others).toEqual([])
    const [line, ...stack] = String(text?.[0]).split('\n')
    expect(line).toMatch(
      /^tix-webhooks: \[order\.created default\/order\.created\/ord_3, attempt 1, \d+ days old\] the printer is on fire$/,
    )
    expect(stack[0]).toBe('    Error: the printer is on fire')
    expect(stack[1]).toMatch(/^ {8}at .*printTickets .*default-log\.test\.ts/)
    expect(stack).toContain('    caused by TypeError: no paper')
    expect(stack.every((one) => one.startsWith('    '))).toBe(true)
  })

  test('of an AggregateError has the first lines of the first few errors in it', async () => {
    const errors = Array.from({ length: 100 }, (_, i) => new Error(`no printer ${i + 1}`))
    const thrown = () => Promise.any(errors.map(async (error) => Promise.reject(error)))
    const [text] = await linesOf(orderCreated(), { on: { 'order.created': thrown as never } })
    const lines = String(text?.[0]).split('\n')
    expect(lines.filter((line) => line.includes('no printer'))).toEqual(
      [1, 2, 3, 4, 5].map((i) => `        error ${i} of 100: Error: no printer ${i}`),
    )
  })

  test('names the path without its query, the namespace, the account, the kind, the key, the attempt, and the age', async () => {
    const printed = vi.spyOn(console, 'error').mockImplementation(() => {})
    let now = Date.parse('2026-03-01T12:00:00Z')
    const { receive } = createReceiver({
      account: () => ({ id: 'acme', secret: SECRET }),
      on: { 'order.created': throws(new Error('no ink')) },
      store: memoryStore(),
      namespace: 'orders',
      now: () => now,
    })
    const lineOf = async (payload: object | string, timestamp = now / 1000) => {
      printed.mockClear()
      const delivery = await sign(payload, { timestamp })
      await receive({ ...delivery, request: null, path: () => '/hooks?token=hunter2' })
      return String(printed.mock.calls[0]?.[0]).split('\n')[0]
    }
    const order = { ...orderCreated({ id: 'ord_3' }), created_at: '2026-03-01T11:59:57Z' }
    const place = '[/hooks orders acme order.created orders/acme/order.created/ord_3'
    expect(await lineOf(order)).toBe(`tix-webhooks: ${place}, attempt 1, 3 s old] no ink`)
    now += 2 * 3_600_000
    expect(await lineOf(order)).toBe(`tix-webhooks: ${place}, attempt 2, 2 h old] no ink`)
    expect(await lineOf({ ...order, created_at: 'yesterday' })).toContain(
      `${place}, attempt 3, 0 s old] no ink`,
    )
    expect(await lineOf('{', now / 1000 - 150)).toMatch(
      /^tix-webhooks: \[\/hooks orders acme, 2 min old\] .*\(not_json\)$/,
    )
    expect(await lineOf(order, now / 1000 - 350)).toMatch(
      /^tix-webhooks: \[\/hooks orders acme, 5 min old\] .*\(timestamp_too_old\)$/,
    )
  })

  test('has room for the message, however long the kind, the path and the key are', async () => {
    const printed = vi.spyOn(console, 'error').mockImplementation(() => {})
    const { receive } = createReceiver({
      secret: SECRET,
      onUnhandled: throws(new Error('no ink')),
      on: {},
      key: () => 'k'.repeat(5_000),
    })
    const delivery = await sign(lifecycleEvent(`venue.${'x'.repeat(5_000)}`))
    await receive({ ...delivery, request: null, path: () => `/${'p'.repeat(5_000)}` })
    expect(printed).toHaveBeenCalledExactlyOnceWith(expect.stringMatching(/, \d+ days old\] no ink\n/))
  })

  test("goes to the framework's logger where the adapter has one", async () => {
    const log = vi.fn()
    expect(await linesOf(orderCreated(), failing('boom'), log)).toEqual([])
    expect(log).toHaveBeenCalledExactlyOnceWith(
      expect.stringMatching(/^[^\n]* boom$/),
      expect.objectContaining({ message: 'boom' }),
    )
  })

  test('does not quote a body that is no JSON, though the JSON error does', async () => {
    const [line] = await linesOf('{"card":"4242424242424242"', {})
    expect(line?.[0]).toMatch(/not JSON/)
    expect(line?.[0]).not.toContain('4242')
  })

  test('is bounded, and each line but the first is indented, whatever the message is', {
    tags: ['slow'],
  }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary', maxLength: 3000 }), async (message) => {
        const [line] = await linesOf(orderCreated(), failing(message))
        vi.restoreAllMocks()
        expect(line).toHaveLength(1)
        const lines = String(line?.[0]).split('\n')
        expect(lines.length).toBeLessThan(60)
        for (const [index, one] of lines.entries()) {
          expect(one).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}\p{DI}]/u)
          expect(one.length).toBeLessThan(1100)
          expect(one).toMatch(index === 0 ? /^tix-webhooks: / : /^ {4}/)
        }
      }),
      { numRuns: 50 },
    )
  })
})

describe('a refusal, which anybody can cause at any rate,', () => {
  test('is logged three times a minute, with path and namespace, and then counted', async () => {
    const lines: string[] = []
    vi.spyOn(console, 'error').mockImplementation((line) => lines.push(line))
    const receiver = createReceiver({
      secret: SECRET,
      on: { 'order.created': () => {} },
      store: memoryStore(),
      namespace: 'orders',
    })
    const refuse = () =>
      receiver.receive({
        header: 't=1,v1=00',
        body: new Uint8Array(),
        request: null,
        path: () => '/hooks/\u202e?token=secret',
      })
    for (let i = 0; i < 32; i++) expect(await refuse()).toMatchObject({ outcome: 'unauthenticated' })
    expect(lines).toHaveLength(3)
    // It does not hide another reason. A refused method is not a fault.
    for (const method of ['POST', 'GET', 'POST', 'POST', 'POST']) {
      await receiver.receive({ method, header: null, body: new Uint8Array(), request: null })
    }
    const missing = expect.stringMatching(/has no x-service-signature header/)
    expect(lines.splice(3)).toEqual([missing, missing, missing])
    expect(lines[0]).toMatch(
      /^tix-webhooks: \[\/hooks\/ {1,2}orders\] No signature in x-service-signature matches .* \(signature_mismatch\)$/,
    )
    expect(lines.map((line) => line.includes('Further ones are counted for a minute.'))).toEqual([
      false,
      false,
      true,
    ])
    jump(60)
    await refuse()
    expect(lines.slice(3)).toEqual([
      'tix-webhooks: [orders] … and 29 more refused. (signature_mismatch)',
      expect.stringContaining('No signature'),
    ])
  })

  test('has a few lines a minute of a fault before the signature is verified, and each line of one after it', async () => {
    const printed = vi.spyOn(console, 'error').mockImplementation(() => {})
    const firstLines = () => printed.mock.calls.map(([text]) => String(text).split('\n')[0])
    const { receive } = createReceiver<boolean>({
      secret: (isKnown) => (isKnown ? SECRET : throws(new Error('no account'))()),
      on: { 'order.created': throws(new Error('no ink')) },
    })
    const forge = () => receive({ header: 't=1,v1=00', body: new Uint8Array(), request: false })
    for (let i = 0; i < 1000; i++) await forge()
    expect(firstLines()).toHaveLength(3)
    expect(printed.mock.calls[0]?.[0]).toMatch(
      /^tix-webhooks: Your secret function[^\n]+\n {4}Error: no account/,
    )
    expect(firstLines()[2]).toMatch(/Further ones are counted for a minute\./)

    printed.mockClear()
    for (let i = 0; i < 10; i++) await receive({ ...(await sign(orderCreated())), request: true })
    expect(firstLines()).toEqual(Array(10).fill(expect.stringContaining('no ink')))

    printed.mockClear()
    jump(60)
    await forge()
    expect(firstLines()).toEqual([
      expect.stringMatching(/^tix-webhooks: … and 997 more failed\. \(\w+\)$/),
      expect.stringContaining('Your secret function'),
    ])
  })
})

describe('a kind that no handler wants', () => {
  async function linesOf(kinds: readonly string[], options: Partial<WebhookOptions> = {}) {
    const lines: string[] = []
    const printed = vi.spyOn(console, 'error').mockImplementation((line) => lines.push(line))
    const receiver = createReceiver({ secret: SECRET, on: { 'order.created': () => {} }, ...options })
    for (const kind of kinds) {
      const outcome = await receiver.receive({ ...(await sign(lifecycleEvent(kind))), request: null })
      if (options.onUnhandled === undefined) expect(outcome).toEqual({ outcome: 'unhandled' })
    }
    printed.mockRestore()
    return lines
  }

  test('is logged at its first delivery, once, in one line that says what to do', async () => {
    const lines = await linesOf(['event.published', 'venue\u202e.opened', 'event.published'])
    expect(lines).toEqual([
      expect.stringMatching(
        /^tix-webhooks: \[event\.published, \d+ days old\] There is no handler for this kind: .* onUnhandled: \(\) => \{\}/,
      ),
      expect.stringMatching(
        /^tix-webhooks: \[venue \.opened, \d+ days old\] There is no handler for this kind: /,
      ),
    ])
  })

  test.each<[string, Partial<WebhookOptions>]>([
    ['onUnhandled', { onUnhandled: () => {} }],
    ['onDelivery', { onDelivery: () => {} }],
  ])('is not logged where there is an %s', async (_, options) => {
    expect(await linesOf(['event.published'], options)).toEqual([])
  })

  test('is logged for a hundred kinds of an account at most: the sender chooses them', async () => {
    const kinds = Array.from({ length: 150 }, (_, index) => `venue.${index}`)
    expect(await linesOf(kinds)).toHaveLength(100)
  })

  test('is logged though another account has had its hundred', async () => {
    const printed = vi.spyOn(console, 'error').mockImplementation(() => {})
    const { receive } = createReceiver({
      account: (id: string) => ({ id, secret: SECRET }),
      on: { 'order.created': () => {} },
    })
    const send = async (kind: string, request: string) =>
      receive({ ...(await sign(lifecycleEvent(kind))), request })
    for (let i = 0; i < 150; i++) await send(`venue.${i}`, 'crowded')
    for (let i = 0; i < 2; i++) await send('event.published', 'quiet')
    expect(printed).toHaveBeenCalledTimes(101)
    expect(printed).toHaveBeenLastCalledWith(expect.stringMatching(/\[quiet event\.published, .*no handler/))
  })
})

test('G6: no secret is in any outcome, record or report, whatever is sent', { tags: ['slow'] }, async () => {
  const secret = 'whsec_THE_SECRET'
  const payloads = fc.oneof(
    fc.string(),
    fc.oneof(eventsOf('order.created'), envelopes(), notEnvelopes()).map((value) => JSON.stringify(value)),
  )
  await fc.assert(
    fc.asyncProperty(payloads, fc.boolean(), strangeHeaders, async (payload, authentic, header) => {
      const outputs: unknown[] = []
      const receiver = createReceiver({
        secret,
        on: { 'order.created': throws(new Error('boom')) },
        onDelivery: (record) => outputs.push(record),
        onError: (error, ctx) => outputs.push(error, ctx),
      })
      const signed = await sign(payload, { secret })
      outputs.push(
        await receiver.receive({
          body: signed.body,
          header: authentic ? signed.header : header,
          request: null,
        }),
      )
      for (const output of outputs) expect(everythingIn(output)).not.toContain('THE_SECRET')
    }),
    { numRuns: 200 },
  )
})

/** All text in a value: messages, stacks, causes and fields. */
function everythingIn(value: unknown): string {
  if (value instanceof Error)
    return [
      value.message,
      value.stack,
      everythingIn(value.cause),
      ...Object.values(value).map(everythingIn),
    ].join(' ')
  if (typeof value === 'object' && value !== null) return Object.values(value).map(everythingIn).join(' ')
  return String(value)
}
