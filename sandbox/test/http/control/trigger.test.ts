import { describe, expect, test } from 'vitest'
import { SCENARIOS } from '../../../../testing/index.js'
import { answered, httpSandbox } from '../../support/http-sandbox.js'

function stage() {
  const sandbox = httpSandbox()
  sandbox.service.engine.createEndpoint({ url: 'http://127.0.0.1:3000/hooks' })
  const trigger = (body: object) => sandbox.call('POST', '/_sandbox/trigger', { body })
  const fill = (body: object) => sandbox.call('POST', '/_sandbox/fill', { body })
  return { ...sandbox, trigger, fill }
}

describe('trigger', () => {
  test('makes what the kind is about, and returns what was sent', async () => {
    const sandbox = stage()
    const answer = await sandbox.trigger({
      kind: 'order.created',
      set: { 'data.order.total_cents': 0 },
      wait: true,
    })
    expect([answer.status, answer.json()]).toEqual([
      201,
      {
        messages: [expect.stringMatching(/^msg_/)],
        deliveries: [expect.stringMatching(/^dlv_/)],
        attempts: [expect.objectContaining({ number: 1, trigger: 'auto' })],
      },
    ])
    const [body] = sandbox.sent.map(({ body }) => JSON.parse(Buffer.from(body).toString()))
    expect(body).toMatchObject({ type: 'order.created', data: { order: { total_cents: 0 } } })
    expect(sandbox.service.accounts.test.counts()).toMatchObject({ events: 1, orders: 1 })
  })

  test('sends what led to it too, repeats it, and sends data as it is', async () => {
    const sandbox = stage()
    await sandbox.trigger({ kind: 'event.cancelled', chain: true, wait: true })
    await sandbox.trigger({ kind: 'order.created', repeat: 3, wait: true })
    await sandbox.trigger({ kind: 'order.refunded', data: { order: { id: 'ord_1' } }, wait: true })
    const types = sandbox.sent.map(({ body }) => JSON.parse(Buffer.from(body).toString()).type)
    expect(types.sort()).toEqual([
      'event.cancelled',
      'event.published',
      'order.created',
      'order.created',
      'order.created',
      'order.refunded',
    ])
  })

  test('answers at once, or when the first attempts are answered', async () => {
    const sandbox = stage()
    let answer = (): void => {}
    sandbox.answerWith(
      () =>
        new Promise((resolve) => {
          answer = () => resolve(answered(500))
        }),
    )
    await sandbox.trigger({ kind: 'order.created' })
    const waiting = sandbox.trigger({ kind: 'event.published', wait: true })
    let isAnswered = false
    void waiting.then(() => {
      isAnswered = true
    })
    while (sandbox.sent.length < 2) await new Promise(setImmediate)
    for (let turn = 0; turn < 50; turn++) await new Promise(setImmediate)
    expect(isAnswered).toBe(false)
    answer()
    expect((await waiting).status).toBe(201)
    expect(sandbox.service.engine.deliveries({ type: 'event.published' })[0]?.attempts).toHaveLength(1)
  })

  test('stops waiting when the client disconnects', async () => {
    const sandbox = stage()
    sandbox.answerWith(() => new Promise(() => {}))
    const leaving = new AbortController()
    const waiting = sandbox.app.request('http://127.0.0.1:4010/_sandbox/trigger', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"kind":"order.created","wait":true}',
      signal: leaving.signal,
    })
    await expect.poll(() => sandbox.sent.length).toBe(1)
    leaving.abort()
    expect((await waiting).status).toBe(201)
  })
})

test('[N132] the scenarios are those of the testing kit', async () => {
  const { data } = (await stage().call('GET', '/_sandbox/scenarios')).json<{ data: { name: string }[] }>()
  expect(data.map(({ name }) => name)).toEqual(SCENARIOS.map(({ name }) => name))
  expect(data[0]).toEqual({
    name: expect.any(String),
    description: expect.any(String),
    expect: { statuses: expect.any(Array), runs: expect.any(Number) },
  })
})
