import { createTestClock, type ScenarioName, scenarios } from 'tix-webhooks/testing'
import { expect, test } from 'vitest'
import { SECRET } from '../../support/deliveries.js'

const { now } = createTestClock()
const T = String(now() / 1000)

const table = await scenarios('order.created', { secret: SECRET, now })

const deliveriesOf = (name: ScenarioName) => table.find((one) => one.name === name)?.deliveries ?? []
const bodiesOf = (name: ScenarioName) => deliveriesOf(name).map(({ body }) => body)
/** The headers, with `S` for a whole signature. */
const headersOf = (name: ScenarioName) =>
  deliveriesOf(name).map(({ header }) => header?.replace(/[0-9a-f]{64}/, 'S'))

test('a header is missing altogether, empty, and missing for an unknown kind', () => {
  expect(headersOf('missing-header')).toEqual([undefined, '', undefined])
  expect(deliveriesOf('missing-header').map(({ headers }) => Object.keys(headers))).toEqual([
    ['content-type'],
    ['content-type', 'x-service-signature'],
    ['content-type'],
  ])
  expect(bodiesOf('missing-header')[2]).toBe(bodiesOf('unknown-kind')[0])
})

test('malformed headers come near the form, around a valid signature', () => {
  expect(headersOf('malformed-header')).toEqual([
    'nonsense',
    `t=${T}`,
    'v1=S',
    'S',
    `t=${T},v0=S`,
    't=,v1=S',
    `t=0x${Number(T).toString(16)},v1=S`,
    `t=-${T},v1=S`,
    `t=${T}.0,v1=S`,
    `t=${T}x,v1=S`,
    `t=1,t=${T},v1=S`,
    `t=${T},v1=S,t=1`,
    `t=${T},t=${Number(T) - 360},v1=S`,
    `t=${Number(T) - 360},v1=S,t=${T}`,
  ])
})

test('a body is tampered with in it, at its end, after it and before it', () => {
  const [within = '', atEnd = '', after = '', before = ''] = bodiesOf('tampered-byte')
  const genuine = after.slice(0, -1)
  expect(JSON.parse(genuine).type).toBe('order.created')
  expect(after).toBe(`${genuine}\n`)
  expect(before).toBe(`\ufeff${genuine}`)
  expect(atEnd).toBe(genuine.replace(/}$/, ' '))
  expect(within).toBe(genuine.replace('"created_at":"2', '"created_at":"1'))
  expect(within).not.toBe(genuine)
  expect(bodiesOf('tampered-byte')).toHaveLength(4)
})

test('a body is written again with and without blanks', () => {
  const [compact = '', pretty = ''] = bodiesOf('re-serialised-body')
  expect([compact.includes('\n'), pretty.includes('\n')]).toEqual([false, true])
  expect([JSON.parse(compact).type, JSON.parse(pretty).type]).toEqual(['order.created', 'order.created'])
})

test('the body is cut by a byte and by half, and the signature by two digits, by half, to one and to none', () => {
  const [byOne = '', byHalf = '', ...whole] = bodiesOf('truncated')
  const [genuine = ''] = whole
  expect(whole).toEqual(Array(4).fill(genuine))
  expect(JSON.parse(genuine).type).toBe('order.created')
  expect([byOne, byHalf]).toEqual([genuine.slice(0, -1), genuine.slice(0, genuine.length / 2)])
  const signature = deliveriesOf('truncated')[0]?.header?.split('v1=')[1] ?? ''
  expect(deliveriesOf('truncated').map(({ header }) => header)).toEqual(
    [64, 64, 62, 30, 1, 0].map((length) => `t=${T},v1=${signature.slice(0, length)}`),
  )
})

test('a wrong secret signs an event that comes later, and one that nobody handles', () => {
  expect(bodiesOf('wrong-secret')).toEqual([bodiesOf('duplicate')[0], bodiesOf('unknown-kind')[0]])
  expect(new Set([...headersOf('wrong-secret'), ...headersOf('other-endpoints-secret')])).toEqual(
    new Set([`t=${T},v1=S`]),
  )
})

test('stale and future are six minutes away', () => {
  expect(headersOf('stale')).toEqual([`t=${Number(T) - 360},v1=S`])
  expect(headersOf('future')).toEqual([`t=${Number(T) + 360},v1=S`])
})

test('what is signed and no event is nothing, no JSON, cut JSON, and JSON that lacks something', () => {
  expect(bodiesOf('empty-body')).toEqual([''])
  const [empty, text, cut = ''] = bodiesOf('not-json')
  expect([empty, text]).toEqual(['', 'not JSON'])
  expect(JSON.parse(`${cut}}`).type).toBe('order.created')
  const type = 'order.created'
  const created_at = expect.stringMatching(/Z$/)
  const data = { order: expect.anything(), tickets: expect.anything() }
  expect(bodiesOf('not-an-envelope').map((body) => JSON.parse(body))).toEqual([
    null,
    [],
    'text',
    {},
    { created_at, data },
    { type: '', created_at, data },
    { type, data },
    { type, created_at },
    { type, created_at, data: [] },
  ])
})

test('whatever has an id or a date has one of its own, in each list and in each process', async () => {
  const again = await scenarios('order.created', { secret: SECRET, now })
  const ids = [...table, ...again]
    .filter(({ name }) => name === 'unknown-kind' || name === 'not-an-envelope')
    .flatMap(({ deliveries }) => deliveries.map(({ body }) => JSON.parse(body)))
    .flatMap((event) => event?.data?.order?.id ?? event?.created_at ?? [])
  expect(ids).toHaveLength(2 * (2 + 5))
  expect(new Set(ids).size).toBe(ids.length)
  // Samples of a seed are the same in each process, and eight digits long.
  expect(ids.every((id) => /^ord_\w{16}$|Z$/.test(id))).toBe(true)
})

test('an unknown kind has its id where the known one has it', async () => {
  const ofEvents = await scenarios('event.cancelled', { secret: SECRET, now })
  const [first] = ofEvents.find(({ name }) => name === 'unknown-kind')?.deliveries ?? []
  expect(JSON.parse(first?.body ?? '')).toMatchObject({
    type: 'event.cancelled.unheard_of',
    data: { event: { id: expect.stringMatching(/^evt_/) } },
  })
})

test('a duplicate is the same delivery, and then the same body signed a second later; a burst is one delivery', () => {
  const [first, second, third, ...more] = deliveriesOf('duplicate')
  expect(second).toBe(first)
  expect([third?.body, third?.header?.startsWith(`t=${Number(T) + 1},`), more]).toEqual([
    first?.body,
    true,
    [],
  ])
  expect(deliveriesOf('concurrent-burst')).toHaveLength(12)
  expect(new Set(deliveriesOf('concurrent-burst')).size).toBe(1)
})

test('an unknown kind begins like the known one, or is the name of a method; the text of one is not ASCII', () => {
  const [first, second, ...more] = bodiesOf('unknown-kind').map((body) => JSON.parse(body))
  expect(first).toMatchObject({ type: 'order.created.unheard_of', data: { note: 'Zoe\u0308, 2 × 18 €' } })
  expect([second.type, more]).toEqual(['__defineGetter__', []])
})
