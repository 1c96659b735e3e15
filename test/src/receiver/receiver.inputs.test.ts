import type { AnyEvent, UnknownEvent } from 'tix-webhooks'
import { describe, expect, test } from 'vitest'
import { lifecycleEvent, orderCreated, SECRET } from '../../support/deliveries.js'
import { receiving } from '../../support/receiving.js'
import { SOON } from '../../support/retry-after.js'
import { schemaOf } from '../../support/schema-of.js'

describe('a key function', () => {
  const throws = () => {
    throw new Error('no such field')
  }

  test('that throws on good data is misconfigured', async () => {
    const { send, reports } = receiving({ key: throws, on: { 'order.created': () => {} } })
    expect(await send(orderCreated())).toMatchObject({ outcome: 'misconfigured', code: 'misconfigured' })
    expect(reports[0]?.error.message).toMatch(/key function threw for order.created/)
  })

  test('that throws on bad data leaves the blame with the data', async () => {
    const { send } = receiving({ key: throws, on: { 'order.created': () => {} } })
    expect(await send(lifecycleEvent('order.created', { order: null }))).toMatchObject({
      outcome: 'unprocessable',
      code: 'data_mismatch',
    })
  })

  test.each([[''], [undefined], [7], [Promise.resolve('k')], [{}]])(
    'that returns %o is misconfigured',
    async (value) => {
      const { send, reports } = receiving({ key: () => value as string, on: { 'order.created': () => {} } })
      expect(await send(orderCreated())).toMatchObject({ outcome: 'misconfigured' })
      expect(reports[0]?.error.message).toMatch(/non-empty string, or null/)
    },
  )

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

  test('that throws or rejects is an outage', async () => {
    for (const secret of [() => Promise.reject(new Error('vault')), throwing]) {
      const { send, reports } = receiving({ secret })
      expect(await send(orderCreated())).toMatchObject({
        outcome: 'unavailable',
        code: 'secret_unavailable',
        retryAfterSeconds: SOON,
      })
      expect(reports[0]?.error).toMatchObject({
        message: expect.stringMatching(/secret function failed/),
        cause: { message: 'vault' },
      })
    }
    function throwing(): string {
      throw new Error('vault')
    }
  })

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
