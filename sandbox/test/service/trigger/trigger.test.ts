import { tixWebhooks } from 'tix-webhooks/fetch'
import { createSandbox, type Sandbox, type TriggerOptions } from 'tix-webhooks-sandbox'
import { beforeEach, describe, expect, test } from 'vitest'
import { SECRET } from '../../../../test/support/deliveries.js'
import { withChanges } from '../../../service/trigger/payload-changes.js'
import { httpSandbox } from '../../support/http-sandbox.js'

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
    ['toString', {}, /does not document/],
    ['order.refunded', {}, /For "order\.refunded", which it does not document, pass the data\.$/],
    [order, { set: { 'data.order.total': 0 } }, /^The payload has no data\.order\.total\./],
    [order, { repeat: 0 }, /^repeat must be a whole number from 1 to 1000\.$/],
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

const payload = () => ({
  type: 'order.created',
  data: {
    order: { id: 'ord_1', total_cents: 5400 },
    tickets: [
      { id: 'tik_1', tier: 'GA' },
      { id: 'tik_2', tier: 'GA' },
    ],
  },
})

describe('a change of a payload', () => {
  test.each([
    ['data.order.total_cents', 0, '5400', '0'],
    ['data.order.id', null, '"ord_1"', 'null'],
    ['data.tickets[1].tier', 'VIP', '"tik_2","tier":"GA"', '"tik_2","tier":"VIP"'],
    ['data.tickets.1.tier', 'VIP', '"tik_2","tier":"GA"', '"tik_2","tier":"VIP"'],
  ])('sets %s, and nothing else', (path, value, from, to) => {
    const before = payload()
    const expected = JSON.parse(JSON.stringify(before).replace(from, to))
    expect(withChanges(before, { [path]: value })).toEqual(expected)
    expect(before).toEqual(payload())
  })

  test.each([
    ...['data.order.total', 'data.order.id.x', 'data.tickets[2].tier', 'data.tickets[-1].tier', '', '.'],
    ...['order.total_cents', 'type', 'created_at', 'data', 'data.__proto__.polluted'],
    ...['data.order.constructor', 'data.tickets.length', 'data.tickets.length.x'],
  ])('with the unknown path %j is refused, and the known paths are listed', (path) => {
    expect(() => withChanges(payload(), { [path]: 1 })).toThrow(
      /^The payload has no .*It has data\.order\.id, data\.order\.total_cents, data\.tickets\[0\]\.id/,
    )
  })
})

/** An event as an editor may save it: with blanks, an unknown field, another offset, and a line break at its end. */
const CAPTURED =
  '{ "type": "order.created", "created_at": "2026-05-17T16:02:11+02:00", "livemode": true,\n  "data": {"order": {"id": "ord_7", "total_cents": 1, "buyer_email": "a@b.example"}, "tickets": []} }\n'

test('[N150] a captured envelope is sent as it is, signed, and makes nothing: the control API needs no kind beside it', async () => {
  const POST = tixWebhooks({ secret: SECRET, on: { 'order.created': () => {} } })
  const sandbox = createSandbox({ secret: SECRET, deliver: POST })
  const body = JSON.stringify({ event: CAPTURED, repeat: 2, wait: true })
  const headers = { 'content-type': 'application/json' }
  const answer = await sandbox.fetch('/_sandbox/trigger', { method: 'POST', headers, body })
  expect(answer.status).toBe(201)
  const sent = { status: 'delivered', message: { body: CAPTURED } }
  expect(sandbox.deliveries.list()).toMatchObject([sent, sent])
  expect(sandbox.account.listEvents().data).toEqual([])
})

const withField = (field: object) =>
  JSON.stringify({ type: 'order.created', created_at: '2026-05-17T14:02:11Z', data: {}, ...field })
const event = withField({})

test.each([
  [{}, 'parameter_missing', /kind, or a captured event/],
  [{ event: 'not json' }, 'parameter_invalid', /It is not JSON/],
  [{ event: withField({ type: 1 }) }, 'parameter_invalid', /type is wrong/],
  [{ event, kind: 'event.published' }, 'parameter_invalid', /Its type is .*order\.created/],
  [{ event, set: { 'data.a': 1 } }, 'parameter_conflict', /sent as it is/],
])('[N150] %j is refused', async (body, code, message) => {
  const sandbox = httpSandbox()
  const answer = await sandbox.call('POST', '/_sandbox/trigger', { body })
  expect([answer.status, answer.code]).toEqual([400, code])
  expect(answer.text).toMatch(message)
  expect(sandbox.service.engine.deliveries()).toEqual([])
})

test.each([
  ['milliseconds', ['2026-11-20T11:24:00.000Z', '2026-11-20T11:24:00.001Z', '2026-11-20T11:24:01.000Z']],
  ['seconds', ['2026-11-20T11:24:00Z', '2026-11-20T11:24:00Z', '2026-11-20T11:24:01Z']],
])('[N151] created_at is in %s by that assumption', async (precision, expected) => {
  const { service, call } = httpSandbox({ assume: { 'created-at': precision } })
  const trigger = () => call('POST', '/_sandbox/trigger', { body: { kind: 'event.published' } })
  service.engine.createEndpoint({ url: 'http://127.0.0.1:9/hooks' })
  await trigger()
  await trigger()
  await service.clock.advanceBy(1000)
  await trigger()
  const times = service.engine.deliveries().map(({ message }) => JSON.parse(message.body).created_at)
  expect(times.reverse()).toEqual(expected)
})
