import { describe, expect, test } from 'vitest'
import { orderCreated, SECRET } from '../../support/deliveries.js'
import { receiving } from '../../support/receiving.js'

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
