import { describe, expect, test } from 'vitest'
import { answered, apiFixture, httpSandbox, NOW } from '../../support/http-sandbox.js'

const REAL = Date.parse('2026-11-21T00:00:00.000Z')
const startSandbox = () => httpSandbox({ realNow: () => REAL })
const later = (ms: number) => new Date(Date.parse(NOW) + ms).toISOString()
const HOUR = 3_600_000

test.each([
  ['72h', 72 * HOUR],
  [3600, HOUR],
  [0.5, 500],
])('[N123] advances %j', async (advance, ms) => {
  const { call } = startSandbox()
  const answer = await call('POST', '/_sandbox/clock', { body: { advance } })
  expect([answer.status, answer.json()]).toEqual([
    200,
    {
      now: later(ms),
      frozen: true,
      next_at: null,
      next_what: null,
      real_now: '2026-11-21T00:00:00.000Z',
      from: NOW,
      ran: 0,
      attempts: { delivered: 0, failed: 0 },
      deliveries: { delivered: 0, parked: 0, given_up: 0, retrying: 0, given_up_after: null },
    },
  ])
})

test('[N123] goes to a moment, and to what is next', async () => {
  const sandbox = apiFixture()
  await sandbox.create({ on_sale_at: '2026-11-25T10:00:00Z' })
  expect(await sandbox.read('/_sandbox/clock')).toMatchObject({
    next_at: '2026-11-25T10:00:00.000Z',
    next_what: expect.stringMatching(/^.+ goes on sale$/),
  })
  const to = (to: string) => sandbox.call('POST', '/_sandbox/clock', { body: { to } })
  expect((await to('2026-11-24T12:00:00+01:00')).json()).toMatchObject({
    now: '2026-11-24T11:00:00.000Z',
    ran: 0,
  })
  const { now, next_at, ran } = (await to('next')).json()
  expect([now, ran]).toEqual(['2026-11-25T10:00:00.000Z', 1])
  // The end of the event.
  expect(next_at).toBe('2026-12-01T22:00:00.000Z')
})

test('[N123] runs and stands still', async () => {
  const sandbox = startSandbox()
  const clock = (body: object) => sandbox.call('POST', '/_sandbox/clock', { body })
  expect((await clock({ run: true })).json()).toMatchObject({ frozen: false })
  expect((await clock({ freeze: true })).json()).toMatchObject({ frozen: true })
  expect(await sandbox.call('GET', '/_sandbox/clock').then((answer) => answer.json())).not.toHaveProperty(
    'attempts',
  )
})

test('goes no further than years of four digits, however often', async () => {
  const { call } = startSandbox()
  const statuses = new Set<number>()
  for (let century = 0; century < 72; century++) {
    statuses.add((await call('POST', '/_sandbox/clock', { body: { advance: '36500d' } })).status)
  }
  expect([...statuses]).toEqual([200, 400])
  expect((await call('GET', '/_sandbox')).status).toBe(200)
})

describe('an advance', () => {
  test('[N125] does not count the attempts of another one, which it waits for', async () => {
    const sandbox = httpSandbox()
    sandbox.service.engine.createEndpoint({ url: 'http://127.0.0.1:3000/hooks' })
    sandbox.answerWith(() => answered(500))
    await sandbox.call('POST', '/_sandbox/trigger', { body: { kind: 'order.created', wait: true } })
    const advance = () => sandbox.call('POST', '/_sandbox/clock', { body: { advance: '1m' } })
    const told = (await Promise.all([advance(), advance(), advance()])).map((answer) => answer.json())
    expect(told.map(({ ran, attempts }) => [ran, attempts])).toEqual([
      [2, { delivered: 0, failed: 2 }],
      [0, { delivered: 0, failed: 0 }],
      [0, { delivered: 0, failed: 0 }],
    ])
  })
})
