import fc from 'fast-check'
import { createReceiver, verifySignature } from 'tix-webhooks'
import { signedDelivery } from 'tix-webhooks/testing'
import { secrets, signatureOptions } from 'tix-webhooks/testing/fast-check'
import { describe, expect, test } from 'vitest'
import { sign } from '../../support/deliveries.js'
import { runs } from '../../support/runs.js'
import { expectEach, manyOf } from '../../support/testing/samples-of.js'

describe('a secret', () => {
  test('is taken by the receiver and by the signer', async () => {
    await fc.assert(
      fc.asyncProperty(secrets(), async (secret) => {
        expect(createReceiver({ secret, on: { 'order.created': () => {} } })).toBeDefined()
        const { header } = await sign('{}', { secret, timestamp: 1 })
        expect(await verifySignature('{}', header, { secret, now: () => 1000 })).toMatchObject({
          secretIndex: 0,
        })
      }),
      { numRuns: runs(75) },
    )
  })

  test('is of all sorts', () => {
    expectEach(secrets(), (secret) => {
      const bytes = typeof secret === 'string' ? new TextEncoder().encode(secret) : secret
      const isText = typeof secret === 'string'
      return {
        'as services write it': isText && /^whsec_[A-Za-z0-9+/]{20,}$/.test(secret),
        'text that is not ASCII': isText && /\P{ASCII}/u.test(secret),
        'text with a blank inside': isText && /\S \S/.test(secret),
        bytes: !isText,
        'bytes that are a text': !isText && bytes.every((byte) => byte > 0x20 && byte < 0x7f),
        'bytes that are no UTF-8': !isText && new TextDecoder().decode(bytes).includes('\ufffd'),
        'one byte': bytes.length === 1,
        'longer than a block of SHA-512': !isText && bytes.length > 128,
      }
    })
  })
})

describe('the ways of signing', () => {
  test('are taken by the receiver and by the signer', async () => {
    await fc.assert(
      fc.asyncProperty(signatureOptions(), async (signature) => {
        const secret = 'whsec_test'
        const { receive, headerName } = createReceiver({
          secret,
          signature,
          on: { 'order.created': () => {} },
        })
        const delivery = await signedDelivery('event.published', { secret, signature })
        const request = delivery.toRequest('/hooks')
        const body = new Uint8Array(await request.arrayBuffer())
        expect(await receive({ header: request.headers.get(headerName), body, request })).toEqual({
          outcome: 'unhandled',
        })
        expect(request.headers.get('content-type')).toBe('application/json')
      }),
      { numRuns: runs(50) },
    )
  })

  test('are all that the options can say', () => {
    const all = manyOf(signatureOptions(), 1000)
    const given = all.map((options) => Object.keys(options).sort().join())
    // Each of the five is there or is not.
    expect(new Set(given).size).toBe(32)
    const [algorithms, encodings, contents, units] = [2, 2, 4, 2]
    const combined = all
      .filter(({ header, ...others }) => Object.keys(others).length === 4)
      .map(({ header, signedContent, ...others }) => [
        ...Object.values(others),
        typeof signedContent === 'function' ? signedContent.name : signedContent,
      ])
    expect(new Set(combined.map(String)).size).toBe(algorithms * encodings * contents * units)
    const names = new Set(all.map(({ header }) => header))
    expect(names).toContain('x-service-signature')
    expect(names).toContain('Stripe-Signature')
    expect(names.size).toBeGreaterThan(100)
    // None of HTTP's own, such as content-type.
    for (const name of names) expect(name ?? 'x-').toMatch(/^(x-.*|(stripe|webhook)-signature)$/i)
  })

  test('differ: what is signed in one is not verified in another', async () => {
    const headers = await Promise.all(
      manyOf(signatureOptions(), 100).map(async ({ signedContent }) => {
        const { header } = await sign('{}', {
          timestamp: 1,
          ...(signedContent && { signature: { signedContent } }),
        })
        return header
      }),
    )
    expect(new Set(headers).size).toBe(4)
  })
})
