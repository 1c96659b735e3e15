import { SCENARIOS } from 'tix-webhooks/testing'
import { createSandbox, type Sandbox, type TriggerOptions } from 'tix-webhooks-sandbox'
import { beforeEach, describe, expect, test } from 'vitest'
import { SECRET } from '../../../../test/support/deliveries.js'

let sandbox: Sandbox
let received: { type: string; data: Record<string, never> }[]

beforeEach(() => {
  received = []
  sandbox = createSandbox({
    startAt: '2026-11-20T12:00:00Z',
    seed: 1,
    secret: SECRET,
    deliver: async (request) => {
      const text = await request.text()
      try {
        received.push(JSON.parse(text))
      } catch {
        return new Response(null, { status: 400 })
      }
      return new Response(null, { status: 204 })
    },
  })
})

async function trigger(kind: string, options?: TriggerOptions) {
  const triggered = await sandbox.trigger(kind, options)
  await sandbox.settled()
  return triggered
}

describe('a trigger', () => {
  test.each(['order.created', 'event.published', 'event.cancelled', 'event.rescheduled'])(
    'of %s sends that kind alone, about something that the API has',
    async (kind) => {
      const { messages, deliveries } = await trigger(kind)
      expect([messages.length, deliveries.length]).toEqual([1, 1])
      expect(received.map(({ type }) => type)).toEqual([kind])
      const [event] = sandbox.account.listEvents().data
      if (kind === 'order.created') expect(event?.sold).toBe(2)
      else expect(received[0]?.data.event).toEqual(event)
    },
  )

  test('[S91] sends an envelope of type, created_at and data, and nothing else', async () => {
    await trigger('order.created')
    const created_at = expect.stringMatching(/^2026-11-20T12:00:00(\.\d{3})?Z$/)
    expect(received).toEqual([{ type: 'order.created', created_at, data: expect.any(Object) }])
  })

  test('for the live account goes to the endpoints of that account', async () => {
    await trigger('order.created', { mode: 'live' })
    expect(received).toEqual([])
    sandbox.endpoints.create({ url: 'http://localhost/live', mode: 'live', secret: SECRET })
    await trigger('order.created', { mode: 'live' })
    expect(received).toHaveLength(1)
    expect(sandbox.account.listEvents().data).toEqual([])
  })

  const order = 'order.created'
  test.each<[string, TriggerOptions, RegExp]>([
    ['order.refunded', {}, /For "order\.refunded", which it does not document, pass the data\.$/],
    ['toString', {}, /does not document/],
    [order, { set: { 'data.order.total': 0 } }, /^The payload has no data\.order\.total\./],
    [order, { repeat: 0 }, /^repeat must be a whole number from 1 to 1000\.$/],
    [order, { repeat: 1001 }, /^repeat must be/],
    [order, { scenario: 'mayhem' }, /There is no scenario "mayhem"/],
    [order, { scenario: 'thin' }, /There is no thin of this order\.created/],
  ])('of %s with %j is refused, and nothing is made or sent', async (kind, options, message) => {
    await expect(trigger(kind, options)).rejects.toThrow(message)
    expect(received).toEqual([])
    expect(sandbox.deliveries.list()).toEqual([])
    expect(sandbox.account.listEvents().data).toEqual([])
  })
})

describe('data that cannot be written', () => {
  const nested = (depth: number): Record<string, unknown> => {
    let value: Record<string, unknown> = {}
    for (let level = 0; level < depth; level++) value = { inner: value }
    return value
  }
  const circle: Record<string, unknown> = {}
  circle.itself = circle

  test.each([
    ['3,000 levels', 'data', { data: nested(3000) }],
    ['100,000 levels', 'data', { data: nested(100_000) }],
    ['a circle', 'data', { data: circle }],
    ['a value of 3,000 levels', 'set', { set: { 'data.order.id': nested(3000) } }],
  ] as const)('is refused, and nothing is sent: %s', async (_, param, request) => {
    const message = `${param} is nested deeper than 1000 levels, or contains itself: it cannot be sent.`
    const refusal = { name: 'Fault', code: 'parameter_invalid', param, message }
    await expect(sandbox.trigger('order.created', { ...request })).rejects.toMatchObject(refusal)
    expect(sandbox.deliveries.list()).toEqual([])
  })

  test('has over 1,000 levels', async () => {
    await trigger('order.created', { data: nested(1000) })
    expect(received).toHaveLength(1)
  })
})

describe('a scenario', () => {
  test.each(SCENARIOS.filter(({ name }) => name !== 'thin').map(({ name }) => name))(
    '%s is sent at once, recorded under its name, and not retried',
    async (scenario) => {
      const { attempts, deliveries } = await trigger('order.created', { scenario })
      expect(deliveries).toHaveLength(1)
      expect(attempts.length).toBeGreaterThan(0)
      const delivery = sandbox.deliveries.get(deliveries[0] ?? '')
      expect(delivery?.attempts).toEqual(attempts)
      for (const attempt of attempts) expect(attempt).toMatchObject({ trigger: 'scenario', scenario })
      expect(delivery?.nextAtMs).toBeUndefined()
    },
  )
})
