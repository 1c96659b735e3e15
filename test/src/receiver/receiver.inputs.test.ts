import type { AnyEvent, UnknownEvent } from 'tix-webhooks'
import { describe, expect, test } from 'vitest'
import { lifecycleEvent, orderCreated, SECRET } from '../../support/deliveries.js'
import { throws } from '../../support/promises.js'
import { receiving } from '../../support/receiving.js'
import { schemaOf } from '../../support/schema-of.js'

describe('a key function', () => {
  test('that throws on bad data leaves the blame with the data', async () => {
    const { send } = receiving({ key: throws(new Error('no such field')), on: { 'order.created': () => {} } })
    expect(await send(lifecycleEvent('order.created', { order: null }))).toMatchObject({
      outcome: 'unprocessable',
      code: 'data_mismatch',
    })
  })

  test('sees the parsed JSON and not what a schema makes of it', async () => {
    const totals: unknown[] = []
    const schema = schemaOf(() => ({ value: { replaced: true } }))
    const { send } = receiving({
      schemas: { 'order.created': schema },
      key: (event: UnknownEvent) => {
        totals.push((event.data.order as { total_cents: number }).total_cents)
        return 'k'
      },
      on: { 'order.created': (event: AnyEvent) => totals.push(event.data) },
    } as object)
    await send(orderCreated())
    expect(totals).toEqual([5400, { replaced: true }])
  })
})

describe('a secret function', () => {
  test.each([[undefined], [''], [[]], [[undefined]], ['whsec_x\n'], [7]])(
    'that returns %o is misconfigured, never an empty key',
    async (value) => {
      const { send, reports } = receiving({ secret: () => value as string })
      expect(await send(orderCreated())).toMatchObject({ outcome: 'misconfigured', code: 'misconfigured' })
      expect(reports[0]?.error.message).toMatch(/secret function returned/)
    },
  )

  test('is given the request, and may answer later and with several', async () => {
    const requests: unknown[] = []
    const indexes: number[] = []
    const { send } = receiving({
      secret: async (request) => {
        requests.push(request)
        return ['whsec_old', SECRET]
      },
      on: { 'order.created': (_, ctx) => indexes.push(ctx.secretIndex) },
    })
    const request = { tenant: 'a' }
    expect(await send(orderCreated(), { request })).toEqual({ outcome: 'handled' })
    expect(requests).toEqual([request])
    expect(indexes).toEqual([1])
  })
})
