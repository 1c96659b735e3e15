import { describe, expect, test } from 'vitest'
import { answered, controlFixture, HOOKS, NOW } from '../../support/http-sandbox.js'

test('[N117] a delivery is shown with all details of its attempts', async () => {
  const sandbox = controlFixture()
  const { endpoint, list, trigger, call } = sandbox
  sandbox.answerWith(() => ({
    response: { status: 302, headers: { location: '/elsewhere' }, body: 'moved', truncated: false },
  }))
  await trigger()
  const [delivery] = await list()
  expect(delivery).toEqual({
    id: expect.stringMatching(/^dlv_/),
    type: 'order.created',
    subject: '2 tickets · 54.00 · buyer1@example.com',
    mode: 'test',
    endpoint: endpoint.id,
    url: HOOKS,
    status: 'retrying',
    created_at: expect.stringMatching(/^2026-11-20T11:24:00\.\d{3}Z$/),
    first_at: NOW,
    next_at: '2026-11-20T11:24:05.000Z',
    body: expect.stringMatching(/^\{"type":"order.created"/),
    attempts: [
      {
        id: expect.stringMatching(/^att_/),
        number: 1,
        trigger: 'auto',
        virtual_time: NOW,
        real_time: expect.stringMatching(/^\d{4}-.*Z$/),
        url: HOOKS,
        request: {
          headers: expect.objectContaining({
            'content-type': 'application/json',
            'x-service-signature': expect.stringMatching(/^t=\d+,v1=[0-9a-f]{64}$/),
          }),
        },
        response: { status: 302, headers: { location: '/elsewhere' }, body: 'moved', truncated: false },
        says: 'moved',
        duration_ms: expect.any(Number),
        hint: expect.stringContaining('http://127.0.0.1:3000/elsewhere'),
      },
    ],
  })
  expect((await call('GET', `/_sandbox/deliveries/${delivery?.id}`)).json()).toEqual(delivery)
})

test('the URL is null when the endpoint is gone', async () => {
  const sandbox = controlFixture()
  await sandbox.trigger()
  sandbox.service.engine.removeEndpoint(sandbox.endpoint.id)
  expect(await sandbox.list()).toMatchObject([{ endpoint: sandbox.endpoint.id, url: null }])
})

describe('the list', () => {
  test('has the newest first, and what is asked for', async () => {
    const sandbox = controlFixture()
    await sandbox.trigger()
    sandbox.answerWith(() => answered(500))
    await sandbox.trigger({ kind: 'event.published' })
    const types = async (query: string) => (await sandbox.list(query)).map(({ type }) => type)
    expect(await types('')).toEqual(['event.published', 'order.created'])
    expect(await types('?limit=1')).toEqual(['event.published'])
    expect(await types('?status=delivered')).toEqual(['order.created'])
    expect(await types('?type=event.*')).toEqual(['event.published'])
    expect(await types(`?endpoint=${sandbox.endpoint.id}&status=retrying`)).toEqual(['event.published'])
    expect(await types('?endpoint=we_none')).toEqual([])
  })
})
