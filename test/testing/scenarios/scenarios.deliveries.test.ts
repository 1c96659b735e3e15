import {
  createTestClock,
  makeScenario,
  type ScenarioName,
  sampleEvent,
  scenarios,
} from 'tix-webhooks/testing'
import { expect, test } from 'vitest'
import { SECRET } from '../../support/deliveries.js'

const { now } = createTestClock()
const T = String(now() / 1000)

const table = await scenarios('event.published', { secret: SECRET, now })

const deliveriesOf = (name: ScenarioName) => table.find((one) => one.name === name)?.deliveries ?? []
const bodiesOf = (name: ScenarioName) => deliveriesOf(name).map(({ body }) => body)
/** The header, with `S` for each whole signature. */
const headersOf = (name: ScenarioName) =>
  deliveriesOf(name).map(({ header }) => header?.replaceAll(/[0-9a-f]{64}/g, 'S'))

test('a valid delivery is one event', () => {
  expect(headersOf('valid')).toEqual([`t=${T},v1=S`])
  expect(JSON.parse(bodiesOf('valid')[0] ?? '').type).toBe('event.published')
})

test('white space is blanks and line ends, and tabs and other line ends', () => {
  const [blanks = '', tabs = '', ...more] = bodiesOf('whitespace')
  const event = JSON.parse(blanks)
  expect(blanks).toBe(JSON.stringify(event, null, 2))
  expect(tabs).toMatch(/^\{\r\n\t"type": "event\.published",\r\n.*\}\r\n$/s)
  expect([JSON.parse(tabs), more]).toEqual([event, []])
})

test('unicode is in the title, as it is and escaped', () => {
  const [raw = '', escaped = '', ...more] = bodiesOf('unicode')
  const { title } = JSON.parse(raw).data.event
  for (const part of ['e\u0308', 'ë', '€', '🎟', '\u200d', '\u2028', '\u2029', '"\\/"']) {
    expect(title).toContain(part)
  }
  expect(raw).toContain('\u2028')
  expect(escaped).toMatch(/^[\x20-\x7e]*$/)
  expect(escaped).toContain('https:\\/\\/')
  expect(escaped).toContain('\\ud83c\\udf9f')
  expect([JSON.parse(escaped), more]).toEqual([JSON.parse(raw), []])
})

test('unicode is beside data that has no text for people', async () => {
  const body = JSON.stringify({
    type: 'order.refunded',
    created_at: '2026-05-17T14:02:11Z',
    data: { cents: 5 },
  })
  const { deliveries } = await makeScenario('unicode', { body, secret: SECRET })
  const [raw, escaped] = deliveries.map((delivery) => JSON.parse(delivery.body))
  expect(raw).toEqual({ ...JSON.parse(body), note: expect.stringContaining('🎟') })
  expect(escaped).toEqual(raw)
})

test('extra fields are around the documented ones, in the event and in its data', () => {
  const [body = '', ...more] = bodiesOf('extra-fields')
  const event = JSON.parse(body)
  expect(Object.keys(event)).toEqual(['api_version', 'type', 'created_at', 'data', 'livemode'])
  expect(Object.keys(event.data)).toEqual(['unheard_of', 'event', 'added_later'])
  expect(more).toEqual([])
})

test('a thin event has the id of the event, and nothing else', () => {
  const [body = ''] = bodiesOf('thin')
  expect(JSON.parse(body).data).toEqual({ event: { id: expect.stringMatching(/^evt_\w+$/) } })
})

test('a large event has 512 KiB, and its kind at the end', () => {
  const [body = '', ...more] = bodiesOf('large')
  expect(new TextEncoder().encode(body)).toHaveLength(512 * 1024)
  expect(body.startsWith('{"padding":"xxx')).toBe(true)
  expect(more).toEqual([])
})

test('what is large already is not made smaller', async () => {
  const note = 'x'.repeat(600 * 1024)
  const body = JSON.stringify({ ...sampleEvent('order.created'), note })
  const { deliveries } = await makeScenario('large', { body, secret: SECRET })
  expect(JSON.parse(deliveries[0]?.body ?? '')).toEqual({ padding: '', ...JSON.parse(body) })
})

test('two v1 are ours before and after that of another secret', async () => {
  expect(headersOf('two-v1')).toEqual([`t=${T},v1=S,v1=S`, `t=${T},v1=S,v1=S`])
  const [first = [], second = []] = deliveriesOf('two-v1').map(({ header }) => header?.split(',').slice(1))
  expect(second).toEqual([...first].reverse())
  expect(new Set(bodiesOf('two-v1')).size).toBe(1)
  const full = await makeScenario('two-v1', {
    body: JSON.stringify(sampleEvent('order.created')),
    secret: Array.from({ length: 16 }, (_, index) => `whsec_${index}`),
  })
  expect(full.deliveries.map(({ header }) => header?.split('v1=').length)).toEqual([17, 17])
})

test('of the reordered events the later comes first, whichever was made first', async () => {
  const [later, earlier, tied, ...more] = bodiesOf('reordered').map((body) => JSON.parse(body))
  expect(Date.parse(later.created_at) - Date.parse(earlier.created_at)).toBe(30_000)
  expect(tied.created_at).toBe(later.created_at)
  expect(new Set([later, earlier, tied].map(({ data }) => data.event.id)).size).toBe(3)
  expect(more).toEqual([])
  const body = JSON.stringify(sampleEvent('order.created', { at: '2026-05-17T14:02:11.001Z' }))
  const { deliveries } = await makeScenario('reordered', { body, secret: SECRET })
  expect(deliveries.map((delivery) => JSON.parse(delivery.body).created_at)).toEqual([
    '2026-05-17T14:02:11.001Z',
    '2026-05-17T14:01:41.001Z',
    // The same order again at the same time would be a duplicate.
    '2026-05-17T14:01:56.001Z',
  ])
})

test('of the tied events the second has the time of the first, which is sent again', async () => {
  const [first, second, again, ...more] = bodiesOf('tied')
  expect(again).toBe(first)
  const [a, b] = [first, second].map((body) => JSON.parse(body ?? ''))
  expect(a.created_at).toBe(b.created_at)
  expect(a.data).not.toEqual(b.data)
  expect(more).toEqual([])
})

test('no two events of the table happened at the same time: on data that is given whole, that alone tells them apart', async () => {
  const data = { of: 'all' }
  const played = await scenarios('order.refunded', { secret: SECRET, data })
  const genuine = played.filter(({ verdict, name }) => verdict === 'genuine' && name !== 'reordered')
  const times = genuine.map(({ deliveries: [first] }) => JSON.parse(first?.body ?? '').created_at)
  const [later, earlier] = (played.find(({ name }) => name === 'reordered')?.deliveries ?? []).map(
    ({ body }) => JSON.parse(body).created_at,
  )
  expect(new Set([...times, later, earlier.replace('.000Z', 'Z')]).size).toBe(times.length + 2)
})

test.each([
  ['chunked', 'chunked', 7],
  ['tiny-chunks', 'tiny-chunks', undefined],
  ['slow-body', 'slow', 7],
] as const)(
  'a %s delivery has the whole body, and a request with a part of it at a time',
  async (name, transport, parts) => {
    const [delivery, ...more] = deliveriesOf(name)
    expect([delivery?.transport, more]).toEqual([transport, []])
    const request = delivery?.toRequest('/hooks')
    expect(Object.fromEntries(request?.headers ?? [])).toEqual(delivery?.headers)
    expect(request?.url).toBe('http://localhost/hooks')
    const chunks: Uint8Array[] = []
    for await (const chunk of request?.body ?? []) chunks.push(chunk)
    expect(Buffer.concat(chunks).toString()).toBe(delivery?.body)
    expect(chunks).toHaveLength(parts ?? Buffer.byteLength(delivery?.body ?? ''))
  },
)

test('all others are sent whole', () => {
  const others = table.filter(({ name }) => !['chunked', 'tiny-chunks', 'slow-body'].includes(name))
  expect(others.flatMap(({ deliveries }) => deliveries.filter((one) => 'transport' in one))).toEqual([])
})
