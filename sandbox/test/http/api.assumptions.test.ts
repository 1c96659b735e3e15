/** @module-tag slow */
import { describe, expect, test } from 'vitest'
import { apiFixture } from '../support/api-fixture.js'
import { BASE_URL, EVENT } from '../support/http-sandbox.js'

/** The outer shapes of the answers when an event is created, retrieved, listed and sold. */
async function answersWith(assume: Record<string, string>) {
  const sandbox = apiFixture({ assume })
  const first = await sandbox.call('POST', '/v2/events', { body: EVENT })
  const { id } = await sandbox.create()
  const order = await sandbox.order()
  return {
    created: first.status,
    ordered: order.status,
    retrieved: (await sandbox.call('GET', `/v2/events/${id}`)).json(),
    page: (await sandbox.call('GET', `/v2/events?limit=1&starting_after=${id}`)).json<unknown>(),
    venues: (await sandbox.call('GET', '/v2/venues?limit=1')).json<unknown>(),
    refused: await sandbox.call('GET', '/v2/events/evt_none'),
    ids: [first.json().id, id] as const,
  }
}

test('by default, they are the first choice of each', async () => {
  const { created, ordered, retrieved, page, refused } = await answersWith({})
  expect([created, ordered]).toEqual([201, 201])
  expect(retrieved).not.toHaveProperty('tickets')
  expect(page).toMatchObject({ object: 'list', url: '/v2/events', has_more: false })
  expect(refused.headers.get('content-type')).toBe('application/json')
})

test('[N30] create-status=200', async () => {
  expect(await answersWith({ 'create-status': '200' })).toMatchObject({ created: 200, ordered: 200 })
})

test('[N39] tiers-on-get=yes', async () => {
  const { retrieved, page } = await answersWith({ 'tiers-on-get': 'yes' })
  expect(retrieved).toMatchObject({ tickets: [{ name: 'standing' }, { name: 'seat' }] })
  expect(page).not.toMatchObject({ data: [{ tickets: expect.anything() }] })
})

test('[N66] list=array', async () => {
  const { page, venues, ids } = await answersWith({ list: 'array' })
  expect(page).toMatchObject([{ id: ids[0] }])
  expect(venues).toMatchObject([{ name: expect.any(String) }])
})

describe('[N66] list=links', () => {
  test('leads on, and back', async () => {
    const { page, ids } = await answersWith({ list: 'links' })
    expect(page).toMatchObject({
      data: [{ id: ids[0] }],
      links: { next: null, previous: `${BASE_URL}/v2/events?limit=1&ending_before=${ids[0]}` },
    })
  })

  test('leads through the whole list, each event once', async () => {
    const sandbox = apiFixture({ assume: { list: 'links' } })
    for (let index = 0; index < 7; index++) await sandbox.create()
    type Page = { data: { id: string }[]; links: { next: string | null; previous: string | null } }
    const walk = async (from: string, way: 'next' | 'previous'): Promise<string[][]> => {
      const pages: string[][] = []
      for (let url: string | null = from; url !== null; ) {
        const { data, links }: Page = (await sandbox.call('GET', url)).json()
        pages.push(data.map(({ id }) => id))
        url = links[way]
      }
      return pages
    }
    const onward = await walk('/v2/events?limit=3', 'next')
    expect(onward.map(({ length }) => length)).toEqual([3, 3, 1])
    expect(new Set(onward.flat()).size).toBe(7)
    const last = onward[2]?.[0]
    expect(await walk(`/v2/events?limit=3&ending_before=${last}`, 'previous')).toEqual([onward[1], onward[0]])
  })
})

test('[N26] errors=problem', async () => {
  const { refused } = await answersWith({ errors: 'problem' })
  expect(refused.headers.get('content-type')).toBe('application/problem+json')
  expect(refused.json()).toMatchObject({ title: 'Not Found', status: 404, code: 'resource_missing' })
})

test('what the control answers has one form, whatever is assumed', async () => {
  const sandbox = apiFixture({ assume: { errors: 'problem', list: 'array' } })
  const refused = await sandbox.call('GET', '/_sandbox/deliveries/dlv_none')
  expect(refused.json()).toMatchObject({ error: { type: 'invalid_request_error', code: 'resource_missing' } })
  const [listed] = (await sandbox.call('GET', '/_sandbox/assumptions')).json<{ data: object[] }>().data
  expect(listed).toMatchObject({ name: 'signature', chosen: 'dot' })
})
