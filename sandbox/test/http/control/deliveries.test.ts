import { answerTo } from 'tix-webhooks'
import { describe, expect, test } from 'vitest'
import { deferred } from '../../../../test/support/promises.js'
import type { SendResult } from '../../../engine/network/send.js'
import { isDebatable } from '../../../service/trigger/scenario-verdicts.js'
import { answered, answeredBy, controlFixture, HOOKS, NOW, told } from '../../support/http-sandbox.js'

test('[N109] [N117] a delivery is shown with all details of its attempts', async () => {
  const sandbox = controlFixture()
  const { endpoint, list, trigger } = sandbox
  const response = { status: 302, headers: { location: '/elsewhere' }, body: 'moved', truncated: false }
  sandbox.answerWith(() => ({ response }))
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
        response,
        says: 'moved',
        duration_ms: expect.any(Number),
        hint: expect.stringContaining('http://127.0.0.1:3000/elsewhere'),
      },
    ],
  })
  expect(await sandbox.read(`/_sandbox/deliveries/${delivery?.id}`)).toEqual(delivery)
  const error = { code: 'ECONNREFUSED', message: 'nothing listens on 127.0.0.1:3000' }
  sandbox.answerWith(() => ({ error }))
  await trigger()
  expect((await list())[0]?.attempts).toMatchObject([{ error }])
})

test('the list has the newest first, and what is asked for', async () => {
  const sandbox = controlFixture()
  const { id } = sandbox.endpoint
  await sandbox.trigger()
  sandbox.answerWith(() => answered(500))
  await sandbox.trigger({ kind: 'event.published' })
  const types = async (query: string) => (await sandbox.list(query)).map(({ type }) => type)
  expect(await types('')).toEqual(['event.published', 'order.created'])
  expect(await types('?limit=1')).toEqual(['event.published'])
  expect(await types('?status=delivered')).toEqual(['order.created'])
  expect(await types('?type=event.*')).toEqual(['event.published'])
  expect(await types(`?endpoint=${id}&status=retrying`)).toEqual(['event.published'])
  expect(await types('?endpoint=we_none')).toEqual([])
  sandbox.service.engine.removeEndpoint(id)
  expect(await sandbox.list('?limit=1')).toMatchObject([{ endpoint: id, url: null }])
})

describe('a resend', () => {
  test('[N128] sends the same bytes, and answers the attempt', async () => {
    const sandbox = controlFixture()
    await sandbox.trigger()
    const [delivery] = await sandbox.list()
    const answer = await sandbox.post(`/deliveries/${delivery?.id}/resend`)
    const attempt = { number: 2, trigger: 'manual', url: HOOKS, response: { status: 204 } }
    expect([answer.status, answer.json()]).toMatchObject([200, attempt])
    const bodies = sandbox.sent.map(({ body }) => Buffer.from(body).toString())
    expect(bodies).toEqual([delivery?.body, delivery?.body])
  })

  test('to an endpoint that is gone is refused: there is nothing to sign with', async () => {
    const sandbox = controlFixture()
    await sandbox.trigger()
    const [delivery] = await sandbox.list()
    sandbox.service.engine.removeEndpoint(sandbox.endpoint.id)
    const path = `/deliveries/${delivery?.id}/resend`
    expect(told(await sandbox.post(path))).toEqual([409, 'endpoint_removed'])
    expect(told(await sandbox.post(path, { to: HOOKS }))).toEqual([409, 'endpoint_removed'])
    expect((await sandbox.post('/resend', { since: '1h' })).json()).toEqual({
      data: [],
      left_out: { removed: 1, disabled: 0, spoilt: 0 },
    })
  })

  test.each([
    ['is removed', 'endpoint_removed', ({ service, endpoint }) => service.engine.removeEndpoint(endpoint.id)],
    ['is forgotten with all', 'resource_missing', ({ service }) => service.reset()],
  ] as [string, string, (sandbox: ReturnType<typeof controlFixture>) => unknown][])(
    'that waits for its turn when its endpoint %s is refused, and left out of many',
    async (_, code, happens) => {
      for (const isOfMany of [false, true]) {
        const sandbox = controlFixture()
        await sandbox.trigger({ repeat: 5 })
        // An endpoint gets four at a time.
        const [answer, four] = [deferred<SendResult>(), deferred()]
        sandbox.answerWith(() => {
          if (sandbox.sent.length === 9) four.resolve()
          return answer.promise
        })
        const ids = (await sandbox.list()).map(({ id }) => id)
        const answers = isOfMany
          ? [sandbox.post('/resend', { since: '1h' })]
          : ids.map((id) => sandbox.post(`/deliveries/${id}/resend`))
        await four.promise
        happens(sandbox)
        answer.resolve(answered(204))
        const [last, ...others] = (await Promise.all(answers)).reverse()
        if (isOfMany) expect(last?.json<{ data: object[] }>().data).toHaveLength(4)
        else expect(last?.code).toBe(code)
        expect(others.map(({ status }) => status)).toEqual(isOfMany ? [] : [200, 200, 200, 200])
        expect(sandbox.failures).toEqual([])
      }
    },
  )

  test('[N131] of many takes what failed or was skipped, the oldest first', async () => {
    const sandbox = controlFixture()
    const enable = (enabled: boolean) =>
      sandbox.service.engine.updateEndpoint(sandbox.endpoint.id, { enabled })
    await sandbox.trigger()
    sandbox.answerWith(() => answered(500))
    await sandbox.trigger({ kind: 'event.published' })
    await sandbox.post('/clock', { advance: '73h' })
    enable(false)
    await sandbox.trigger({ kind: 'event.cancelled' })
    enable(true)
    expect((await sandbox.list()).map(({ status }) => status)).toEqual(['skipped', 'failed', 'delivered'])

    sandbox.answerWith(() => answered(204))
    const [skipped, failed] = await sandbox.list()
    expect((await sandbox.post('/resend', { failed: true })).json()).toMatchObject({
      data: [
        { delivery: failed?.id, attempt: { trigger: 'manual', response: { status: 204 } } },
        { delivery: skipped?.id, attempt: { trigger: 'manual' } },
      ],
    })
    expect((await sandbox.list()).map(({ status }) => status)).toEqual(Array(3).fill('delivered'))
  })

  test('of many takes what was sent since then, and sends it elsewhere', async () => {
    const sandbox = controlFixture()
    await sandbox.trigger()
    await sandbox.post('/clock', { advance: '2h' })
    await sandbox.trigger({ kind: 'event.published' })
    const [newer, older] = await sandbox.list()
    const since = async (body: object) =>
      (await sandbox.post('/resend', body))
        .json<{ data: { delivery: string }[] }>()
        .data.map(({ delivery }) => delivery)
    expect(await since({ since: '1h' })).toEqual([newer?.id])
    expect(await since({ since: '3h' })).toEqual([older?.id, newer?.id])
    expect(await since({ since: '3h', failed: true })).toEqual([])
    const to = 'http://127.0.0.1:5000/'
    await since({ since: 60, to })
    expect(sandbox.sent.at(-1)?.url).toBe(to)
  })
})

/** The explanation of the last attempt of the newest delivery. */
async function why({ read, service }: ReturnType<typeof controlFixture>) {
  const [delivery] = service.engine.deliveries()
  return await read(`/_sandbox/deliveries/${delivery?.id}/attempts/${delivery?.attempts.at(-1)?.id}/why`)
}

describe('why', () => {
  test.each([
    [204, null],
    [404, 'Nothing is served at /hooks: is that the path of your receiver?'],
  ])('an attempt was answered %i: the advice is %s', async (status, advice) => {
    const sandbox = controlFixture({ signsVirtually: true })
    sandbox.answerWith(() => answered(status))
    await sandbox.trigger()
    const signature = { valid: true, age_seconds: 0, findings: [] }
    expect(await why(sandbox)).toEqual({ advice, signature })
  })

  const PARKED = answeredBy(answerTo({ outcome: 'parked' }))

  test.each([
    ['wrong-secret', 401, true, 'signature_mismatch'],
    ['wrong-secret', 204, false, 'signature_mismatch'],
    ['wrong-secret', 500, false, 'signature_mismatch'],
    ['wrong-secret', '200 parked', false, 'signature_mismatch'],
    ['stale', 401, true, 'timestamp_too_old'],
    ['not-json', 500, true],
    ['not-json', 204, false],
    ['not-json', '200 parked', true],
    ['duplicate', 204, true],
    ['concurrent-burst', 503, true],
    ['concurrent-burst', 401, false],
    ['concurrent-burst', '200 parked', false],
    ['valid', 401, false],
    ['valid', '200 parked', false],
    ['unknown-kind', '200 parked', false],
  ])('the scenario %s that is answered %s passes: %s', async (name, got, passed, code?: string) => {
    const sandbox = controlFixture()
    sandbox.answerWith(() => (typeof got === 'number' ? answered(got) : PARKED))
    await sandbox.trigger({ scenario: name })
    expect(await why(sandbox)).toMatchObject({
      signature: { valid: code === undefined, ...(code && { code, reason: expect.any(String) }) },
      scenario: { name, got: String(got), passed },
    })
  })

  test('a signature is judged by all secrets of the endpoint, and by none once it was removed', async () => {
    const sandbox = controlFixture()
    const { engine } = sandbox.service
    await sandbox.trigger()
    engine.rotateSecret(sandbox.endpoint.id)
    expect(await why(sandbox)).toMatchObject({ signature: { valid: true } })
    engine.rotateSecret(sandbox.endpoint.id, { keepOld: false })
    expect(await why(sandbox)).toMatchObject({
      signature: {
        valid: false,
        code: 'signature_mismatch',
        reason: 'It was signed with a secret that the endpoint no longer has.',
        findings: [],
      },
    })
    sandbox.answerWith(() => answered(401))
    await sandbox.trigger({ scenario: 'stale' })
    expect(await why(sandbox)).toMatchObject({
      advice: null,
      signature: { code: 'timestamp_too_old', reason: 'The scenario made it so.', findings: [] },
    })
    engine.removeEndpoint(sandbox.endpoint.id)
    expect(await why(sandbox)).toMatchObject({ advice: null, signature: null })
  })

  test('without the exact body there is neither a verdict on the signature nor a command', async () => {
    const sandbox = controlFixture()
    await sandbox.trigger({ scenario: 'large' })
    const [delivery] = sandbox.service.engine.deliveries()
    const attempt = delivery?.attempts[0]
    expect(attempt).toMatchObject({ inexact: true })
    expect(await why(sandbox)).toMatchObject({ signature: null, scenario: { passed: true } })
    const path = `/_sandbox/deliveries/${delivery?.id}`
    const curl = await sandbox.call('GET', `${path}/attempts/${attempt?.id}/curl`)
    expect(told(curl)).toEqual([409, 'body_not_kept'])
    sandbox.service.engine.removeEndpoint(sandbox.endpoint.id)
    expect(told(await sandbox.call('GET', `${path}/curl`))).toEqual([409, 'endpoint_removed'])
  })
})

test('the plan of a delivery equals its later attempts', async () => {
  const sandbox = controlFixture()
  sandbox.answerWith(() => answered(500))
  await sandbox.trigger()
  const [{ id = '' } = {}] = await sandbox.list()
  const plan = () => sandbox.read<{ data: string[] }>(`/_sandbox/deliveries/${id}/plan`)
  const { data } = await plan()
  expect(data).toHaveLength(10)
  await sandbox.post('/clock', { advance: '72h' })
  const { status, attempts = [] } = sandbox.service.engine.delivery(id) ?? {}
  expect(status).toBe('failed')
  expect(attempts.map(({ virtualMs }) => new Date(virtualMs).toISOString())).toEqual([NOW, ...data])
  expect(await plan()).toEqual({ data: [] })
})

describe('a scenario', () => {
  test('has one verdict: an attempt that was answered right names the one that was not', async () => {
    const sandbox = controlFixture()
    let count = 0
    sandbox.answerWith(() => answered(count++ === 0 ? 500 : 200))
    await sandbox.trigger({ scenario: 'duplicate' })
    expect(await why(sandbox)).toMatchObject({
      scenario: { got: '200', passed: true, note: 'Another answer was wrong: that to attempt 1.' },
    })
    sandbox.answerWith(() => answered(503))
    await sandbox.trigger({ scenario: 'concurrent-burst' })
    expect(await why(sandbox)).toMatchObject({
      scenario: { passed: true, note: 'None of the answers says that the event was handled.' },
    })
  })

  test.each([
    [500, 200, 'wrong_answer'],
    [200, 500, 'passed'],
  ])('that was answered %i, and its resend %i, stays %s', async (first, second, status) => {
    const sandbox = controlFixture()
    sandbox.answerWith(() => answered(first))
    await sandbox.trigger({ scenario: 'valid' })
    sandbox.answerWith(() => answered(second))
    const [{ id = '' } = {}] = await sandbox.list()
    await sandbox.post(`/deliveries/${id}/resend`, {})
    expect(await sandbox.list()).toMatchObject([{ id, status, scenario: 'valid', attempts: [{}, {}] }])
    expect(sandbox.service.engine.totals()).toMatchObject({ delivered: 0, failed: 0, [status]: 1 })
    // Resent with many, it is left out.
    const many = await sandbox.post('/resend', { since: '1h' })
    expect(many.json()).toEqual({ data: [], left_out: { removed: 0, disabled: 0, spoilt: 1 } })
  })

  test('may be an event that lacks created_at alone, which may be accepted', async () => {
    const sandbox = controlFixture()
    sandbox.answerWith(({ body }) =>
      answered(isDebatable('not-an-envelope', String(Buffer.from(body))) ? 200 : 500),
    )
    await sandbox.trigger({ scenario: 'not-an-envelope' })
    const [delivery] = sandbox.service.engine.deliveries()
    expect(delivery?.attempts.map(({ response }) => response?.status)).toContain(200)
    expect(delivery?.status).toBe('passed')
  })
})
