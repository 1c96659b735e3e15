import fc from 'fast-check'
import { PayloadError, parseEvent } from 'tix-webhooks'
import { envelopes, eventsOf, notEnvelopes } from 'tix-webhooks/testing/fast-check'
import { expect, test } from 'vitest'

test('undocumented fields pass untouched: any JSON at all', async () => {
  await fc.assert(
    fc.asyncProperty(envelopes(), async (envelope) => {
      fc.pre(envelope.type !== 'order.created')
      const text = JSON.stringify(envelope)
      expect(await parseEvent(text)).toEqual(JSON.parse(text))
    }),
  )
})

test('an order as it is documented passes untouched', async () => {
  await fc.assert(
    fc.asyncProperty(eventsOf('order.created'), async (event) => {
      expect(await parseEvent(JSON.stringify(event))).toEqual(event)
    }),
  )
})

test('JSON that is no envelope is refused, with the place of each fault', async () => {
  await fc.assert(
    fc.asyncProperty(notEnvelopes(), async (value) => {
      const thrown = await parseEvent(JSON.stringify(value)).catch((error: unknown) => error)
      expect(thrown).toBeInstanceOf(PayloadError)
      const { code, issues } = thrown as PayloadError
      expect(code).toBe('not_an_envelope')
      expect(issues.length).toBeGreaterThan(0)
      for (const { path } of issues) expect(['', 'type', 'created_at', 'data']).toContain(path.join('.'))
    }),
  )
})
