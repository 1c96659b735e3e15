import type { BodyReader, Delivery } from 'tix-webhooks'
import { describe, expect, test, vi } from 'vitest'
import { orderCreated, sign } from '../../../support/deliveries.js'
import { throwing } from '../../../support/delivering.js'
import { never } from '../../../support/promises.js'
import { receiving } from '../../../support/receiving.js'

describe('the body', () => {
  test.each([
    [{ code: 'too_large' }, 'too_large', 'too_large'],
    [{ code: 'misconfigured', message: 'parsed' }, 'misconfigured', 'misconfigured'],
    [new Error('aborted'), 'incomplete', 'body_incomplete'],
    [undefined, 'incomplete', 'body_incomplete'],
  ])('whose reader rejects with %o is %s', async (reason, outcome, code) => {
    const { receiver, records } = receiving()
    const body: BodyReader = () => Promise.reject(reason)
    expect(await receiver.receive({ header: 't=1,v1=ab', body, request: null })).toMatchObject({
      outcome,
      code,
    })
    expect(records).toMatchObject([{ outcome, code }])
  })

  test.each([
    [{ code: 'too_large' }, /larger than 1048576 bytes/],
    [{ code: 'misconfigured', message: 'parsed' }, /^parsed$/],
    [{ code: 'misconfigured' }, /^The body cannot be read/],
    [{ code: 'body_incomplete' }, /did not arrive whole/],
  ])(
    'whose reader rejects with %o ends with an error of ours, of which that is the cause',
    async (cause, message) => {
      const { receiver } = receiving()
      const body: BodyReader = () => Promise.reject(cause)
      const { error } = await receiver.receive({ header: 't=1,v1=ab', body, request: null })
      expect(error).toMatchObject({ code: cause.code, message: expect.stringMatching(message) })
      expect((error as Error).cause).toBe(cause)
    },
  )

  test.each<[string, BodyReader['isCutOff'], string]>([
    ['the client has gone', () => true, 'incomplete'],
    ['the client is there', () => false, 'unauthenticated'],
    ['nothing', undefined, 'unauthenticated'],
    ['that it cannot tell', () => Promise.reject(new Error('closed')), 'unauthenticated'],
    ['nothing before the deadline', () => never(), 'unauthenticated'],
  ])('that does not match, and whose reader says %s', async (_, isCutOff, outcome) => {
    const { receiver, reports } = receiving({ timeoutSeconds: 0.1 })
    const read = async () => new Uint8Array(2)
    const body: BodyReader = isCutOff === undefined ? read : Object.assign(read, { isCutOff })
    const ended = await receiver.receive({ header: 't=1,v1=ab', body, request: null })
    expect(ended.outcome).toBe(outcome)
    expect(reports.map(({ error }) => error)).toEqual([ended.error])
    const cause = outcome === 'incomplete' ? (ended.error as Error).cause : ended.error
    expect(cause).toHaveProperty('code', 'signature_mismatch')
  })

  test('whose reader would say that the client has gone is not asked about any other fault', async () => {
    const { receiver } = receiving()
    const isCutOff = vi.fn(() => true)
    const body: BodyReader = Object.assign(async () => new Uint8Array(2), { isCutOff })
    expect(await receiver.receive({ header: null, body, request: null })).toMatchObject({
      outcome: 'malformed',
    })
    const order = await sign('[]')
    const read: BodyReader = Object.assign(async () => order.body, { isCutOff })
    const outcome = await receiver.receive({ header: order.header, body: read, request: null })
    expect(outcome).toMatchObject({ code: 'not_an_envelope' })
    expect(isCutOff).not.toHaveBeenCalled()
  })

  test.each<[string, BodyReader['isHeldUp'], RegExp]>([
    ['held up on our side', () => true, /something in this app has paused the request/],
    ['not held up', () => false, /client was too slow/],
    ['neither', () => 'perhaps' as never, /client was too slow/],
    ['nothing, because it throws', () => throwing(), /client was too slow/],
  ])('that is late, and whose reader says that it is %s', async (_, isHeldUp, message) => {
    const { receiver } = receiving({ timeoutSeconds: 0.1 })
    const asked: string[] = []
    const body: BodyReader = Object.assign(() => never<Uint8Array>(), {
      isHeldUp() {
        asked.push('isHeldUp')
        return isHeldUp?.() as boolean
      },
      cancel() {
        asked.push('cancel')
        throwing()
      },
    })
    const { outcome, error } = await receiver.receive({ header: 't=1,v1=ab', body, request: null })
    expect(outcome).toBe('incomplete')
    expect((error as Error).message).toMatch(message)
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

  test.each([['text'], [{ type: 'order.created' }], [undefined], [new ArrayBuffer(2)]])(
    'that is %o and no bytes is misconfigured',
    async (body) => {
      const { receiver, reports } = receiving()
      for (const given of [body, async () => body]) {
        const outcome = await receiver.receive({
          header: 't=1,v1=ab',
          body: given as unknown as Uint8Array,
          request: null,
        })
        expect(outcome).toMatchObject({ outcome: 'misconfigured' })
      }
      expect(reports[0]?.error.message).toMatch(/exact bytes as a Uint8Array/)
    },
  )

  test('is refused over the limit also where a reader does not hold to it', async () => {
    const { receiver } = receiving({ maxBodyBytes: 10 })
    const asked: number[] = []
    const body: BodyReader = async (maxBytes) => {
      asked.push(maxBytes)
      return new Uint8Array(11)
    }
    const { outcome, error } = await receiver.receive({ header: 't=1,v1=ab', body, request: null })
    expect(outcome).toBe('too_large')
    expect(error).not.toHaveProperty('cause')
    expect(asked).toEqual([10])
  })
})
