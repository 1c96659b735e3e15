import type { BodyReader, Delivery, WebhookOptions } from 'tix-webhooks'
import { describe, expect, test, vi } from 'vitest'
import { orderCreated, sign } from '../../../support/deliveries.js'
import { throwing } from '../../../support/delivering.js'
import { never } from '../../../support/promises.js'
import { receiving } from '../../../support/receiving.js'

/** A delivery with this body, which no signature matches. */
function deliver(body: unknown, options: Partial<WebhookOptions> = {}) {
  const { receiver, reports } = receiving(options)
  const received = receiver.receive({ header: 't=1,v1=ab', body: body as BodyReader, request: null })
  return received.then((ended) => ({ ...ended, error: ended.error as Error, reports }))
}

describe('the body', () => {
  test.each<[unknown, string, string, RegExp]>([
    [{ code: 'too_large' }, 'too_large', 'too_large', /larger than 1048576 bytes/],
    [{ code: 'misconfigured', message: 'parsed' }, 'misconfigured', 'misconfigured', /^parsed$/],
    [{ code: 'misconfigured' }, 'misconfigured', 'misconfigured', /^The body cannot be read/],
    [{ code: 'body_incomplete' }, 'incomplete', 'body_incomplete', /did not arrive whole/],
    [new Error('aborted'), 'incomplete', 'body_incomplete', /did not arrive whole/],
    [undefined, 'incomplete', 'body_incomplete', /did not arrive whole/],
  ])('whose reader rejects with %o is %s, with an error of ours', async (cause, outcome, code, message) => {
    const { error, ...ended } = await deliver(() => Promise.reject(cause))
    expect(ended).toMatchObject({ outcome, code })
    expect(error).toMatchObject({ code, message: expect.stringMatching(message) })
    expect(error.cause).toBe(cause)
  })

  test.each<[string, BodyReader['isCutOff'], string]>([
    ['the client has gone', () => true, 'incomplete'],
    ['the client is there', () => false, 'unauthenticated'],
    ['nothing', undefined, 'unauthenticated'],
    ['that it cannot tell', () => Promise.reject(new Error('closed')), 'unauthenticated'],
    ['nothing before the deadline', () => never(), 'unauthenticated'],
  ])('that does not match, and whose reader says %s', async (_, isCutOff, outcome) => {
    const read = async () => new Uint8Array(2)
    const body = isCutOff === undefined ? read : Object.assign(read, { isCutOff })
    const { reports, ...ended } = await deliver(body, { timeoutSeconds: 0.1 })
    expect(ended.outcome).toBe(outcome)
    expect(reports.map(({ error }) => error)).toEqual([ended.error])
    const cause = outcome === 'incomplete' ? ended.error.cause : ended.error
    expect(cause).toHaveProperty('code', 'signature_mismatch')
  })

  test('whose reader would say that the client has gone is not asked about any other fault', async () => {
    const { receiver } = receiving()
    const isCutOff = vi.fn(() => true)
    const { header, body } = await sign('[]')
    const read: BodyReader = Object.assign(async () => body, { isCutOff })
    expect(await receiver.receive({ header: null, body: read, request: null })).toMatchObject({
      outcome: 'malformed',
    })
    expect(await receiver.receive({ header, body: read, request: null })).toMatchObject({
      code: 'not_an_envelope',
    })
    expect(isCutOff).not.toHaveBeenCalled()
  })

  test.each<[string, BodyReader['isHeldUp'], RegExp]>([
    ['held up on our side', () => true, /something in this app has paused the request/],
    ['not held up', () => false, /client was too slow/],
    ['neither', () => 'perhaps' as never, /client was too slow/],
    ['nothing, because it throws', () => throwing(), /client was too slow/],
  ])('that is late, and whose reader says that it is %s', async (_, isHeldUp, message) => {
    const asked: string[] = []
    const body = Object.assign(() => never<Uint8Array>(), {
      isHeldUp() {
        asked.push('isHeldUp')
        return isHeldUp?.() as boolean
      },
      cancel() {
        asked.push('cancel')
        throwing()
      },
    })
    const { outcome, error } = await deliver(body, { timeoutSeconds: 0.1 })
    expect(outcome).toBe('incomplete')
    expect(error.message).toMatch(message)
    expect(asked).toEqual(['isHeldUp', 'cancel'])
  })

  test.each<[string, Partial<Delivery>, RegExp]>([
    ['with a content-encoding', { contentEncoding: 'gzip' }, /content-encoding: gzip: did a layer/],
    ['with a hint of the adapter', { hint: 'A BOM was dropped.' }, /A BOM was dropped\./],
  ])(
    'that does not match, %s, is refused with the reason that this may have',
    async (_, delivery, message) => {
      const { send } = receiving()
      const { error } = await send(orderCreated(), { ...delivery, header: 't=1,v1=ab' })
      expect((error as Error).message).toMatch(message)
    },
  )

  test.each(['text', { type: 'order.created' }, undefined, new ArrayBuffer(2)])(
    'that is %o and no bytes is misconfigured',
    async (body) => {
      for (const given of [body, async () => body]) {
        const { outcome, error } = await deliver(given)
        expect(outcome).toBe('misconfigured')
        expect(error.message).toMatch(/exact bytes as a Uint8Array/)
      }
    },
  )

  test('is refused over the limit also where a reader does not hold to it', async () => {
    const body = vi.fn(async (_maxBytes: number) => new Uint8Array(11))
    const { outcome, error } = await deliver(body, { maxBodyBytes: 10 })
    expect(outcome).toBe('too_large')
    expect(error).not.toHaveProperty('cause')
    expect(body).toHaveBeenCalledExactlyOnceWith(10)
  })
})
