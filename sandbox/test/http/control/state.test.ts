import { expect, test } from 'vitest'
import { trigger } from '../../../service/trigger/trigger.js'
import { apiFixture, BASE_URL, httpSandbox, NOW } from '../../support/http-sandbox.js'

const CLOCK = { now: NOW, frozen: true, next_at: null, next_what: null, real_now: expect.any(String) }

test('GET /_sandbox returns the version and the number of records', async () => {
  const sandbox = apiFixture({ assume: { 'network-error': 'final' } })
  sandbox.service.engine.createEndpoint({ url: 'http://127.0.0.1:3000/' })
  await sandbox.order()
  await sandbox.service.clock.idle()
  expect(await sandbox.read('/_sandbox')).toEqual({
    name: 'tix-webhooks sandbox',
    version: '1.2.3',
    folder: '/nowhere',
    url: BASE_URL,
    clock: {
      ...CLOCK,
      next_at: expect.any(String),
      next_what: expect.stringMatching(/ ends$/),
    },
    counts: { test: { events: 1, venues: 4, orders: 1 }, live: { events: 0, venues: 3, orders: 0 } },
    deliveries: { pending: 0, retrying: 0, delivered: 2, failed: 0, skipped: 0, passed: 0, wrong_answer: 0 },
    parked: 0,
    endpoints: 1,
    assumptions: {
      signature: 'dot',
      'network-error': 'final',
      'created-at': 'milliseconds',
    },
  })
})

test('[N29] GET /assumptions lists the choices', async () => {
  const { data } = (
    await httpSandbox({ assume: { signature: 'body' } }).call('GET', '/_sandbox/assumptions')
  ).json<{
    data: { name: string; chosen: string }[]
  }>()
  expect(data.find(({ name }) => name === 'signature')).toEqual({
    name: 'signature',
    says: expect.stringContaining('The signed bytes'),
    choices: { dot: expect.any(String), concat: expect.any(String), body: expect.any(String) },
    chosen: 'body',
  })
  expect(data).toHaveLength(3)
})

test('GET /state has no more than the latest hundred of each', { tags: ['slow'] }, async () => {
  const sandbox = httpSandbox()
  sandbox.service.engine.createEndpoint({ url: 'http://127.0.0.1:3000/' })
  await trigger(sandbox.service, { kind: 'order.created', repeat: 120 })
  for (let index = 0; index < 110; index++) await sandbox.call('GET', '/v2/venues')
  const state = await sandbox.read<Record<string, object[]>>('/_sandbox/state')
  expect([state.deliveries?.length, state.events?.length, state.requests?.length]).toEqual([100, 100, 100])
})

test('GET /state?brief=true has the lines of a list: as many as are asked for, and what matches', async () => {
  const sandbox = httpSandbox()
  const { engine } = sandbox.service
  const { id } = engine.createEndpoint({ url: 'http://127.0.0.1:3000/' })
  sandbox.answerWith(() => ({ error: { code: 'ECONNREFUSED', message: 'connect ECONNREFUSED' } }))
  const { deliveries } = await trigger(sandbox.service, { kind: 'order.created', repeat: 3 })
  await sandbox.service.clock.idle()
  const state = async (query: string) => await sandbox.read(`/_sandbox/state?brief=true${query}`)
  expect(await state('&limit=1')).toMatchObject({
    matching: 3,
    next_attempt: {
      delivery: expect.stringMatching(/^dlv_/),
      at: expect.stringMatching(/^2026-11-20T11:24:0/),
    },
    deliveries: [
      {
        id: deliveries[2],
        type: 'order.created',
        mode: 'test',
        endpoint: id,
        url: 'http://127.0.0.1:3000/',
        status: 'retrying',
        created_at: expect.any(String),
        first_at: NOW,
        next_at: expect.any(String),
        attempts: 1,
        last: { attempt: expect.stringMatching(/^att_/), trigger: 'auto', error: 'ECONNREFUSED' },
      },
    ],
  })
  expect(await state(`&q=${deliveries[1]?.toUpperCase()}`)).toMatchObject({
    matching: 1,
    deliveries: [{ id: deliveries[1] }],
  })
  expect(await state('&q=BUYER2@')).toMatchObject({ matching: 1, deliveries: [{ id: deliveries[1] }] })
  expect(await state('&status=delivered')).toMatchObject({ matching: 0, deliveries: [] })
})

test.each([
  [401, 'passed'],
  [204, 'wrong_answer'],
])('a scenario whose answer is %i is %s, in the list and in its filters', async (answer, status) => {
  const sandbox = httpSandbox()
  sandbox.service.engine.createEndpoint({ url: 'http://127.0.0.1:3000/' })
  sandbox.answerWith(() => ({ response: { status: answer, headers: {}, body: '', truncated: false } }))
  await trigger(sandbox.service, { kind: 'order.created', scenario: 'wrong-secret' })
  const state = async (query: string) => await sandbox.read(`/_sandbox/state?brief=true${query}`)
  for (const query of ['', '&status=scenario', `&status=${status}`]) {
    expect(await state(query), query).toMatchObject({
      status: { deliveries: { delivered: 0, failed: 0, [status]: 1 } },
      deliveries: [{ status, scenario: 'wrong-secret', last: { status: answer } }],
    })
  }
  for (const other of ['delivered', 'failed']) {
    expect(await state(`&status=${other}`), other).toMatchObject({ matching: 0, deliveries: [] })
  }
})

test('[N44] [N52] on_sale_at is shown while it is scheduled, and not by the API', async () => {
  const sandbox = apiFixture()
  const on_sale_at = '2026-11-25T10:00:00+01:00'
  const { id } = await sandbox.create({ on_sale_at, image: 'https://pictures.example/a.png' })
  const shown = async () => (await sandbox.read<{ events: object[] }>('/_sandbox/state')).events[0]
  expect(await shown()).toMatchObject({ id, on_sale_at, image_url: 'https://pictures.example/a.png' })
  expect(await sandbox.read(`/v2/events/${id}`)).not.toHaveProperty('on_sale_at')
  await sandbox.act(id, 'publish')
  expect(await shown()).toMatchObject({ status: 'on_sale', on_sale_at: null })
})
