import { answerTo } from 'tix-webhooks'
import { expect, test } from 'vitest'
import { answered, answeredBy, controlFixture, NOW } from '../../support/http-sandbox.js'

/** The explanation of the last attempt of the newest delivery. */
async function why({ call, service }: ReturnType<typeof controlFixture>) {
  const [delivery] = service.engine.deliveries()
  const attempt = delivery?.attempts.at(-1)
  return (await call('GET', `/_sandbox/deliveries/${delivery?.id}/attempts/${attempt?.id}/why`)).json()
}

test.each([
  [204, null],
  [404, 'Nothing is served at /hooks: is that the path of your receiver?'],
])('of an attempt that was answered %i the advice is %s', async (status, advice) => {
  const sandbox = controlFixture({ signsVirtually: true })
  sandbox.answerWith(() => answered(status))
  await sandbox.trigger()
  const signature = { valid: true, age_seconds: 0, findings: [] }
  expect(await why(sandbox)).toEqual({ advice, signature })
})

test.each([
  ['wrong-secret', 401, '4xx', true, 'signature_mismatch'],
  ['wrong-secret', 204, '4xx', false, 'signature_mismatch'],
  ['wrong-secret', 500, '4xx', false, 'signature_mismatch'],
  ['stale', 401, '4xx', true, 'timestamp_too_old'],
  ['missing-header', 400, '4xx', true, 'header_missing'],
])(
  'of the scenario %s that was answered %i: expected %s, passed: %s',
  async (scenario, status, expected, passed, code) => {
    const sandbox = controlFixture()
    sandbox.answerWith(() => answered(status))
    await sandbox.trigger({ scenario })
    expect(await why(sandbox)).toMatchObject({
      signature: { valid: false, code, reason: expect.any(String) },
      scenario: { name: scenario, expected, got: String(status), passed },
    })
  },
)

const PARKED = answeredBy(answerTo({ outcome: 'parked' }))

test.each([
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
  ['wrong-secret', '200 parked', false],
])('the scenario %s that is answered %s passes: %s', async (scenario, got, passed) => {
  const sandbox = controlFixture()
  sandbox.answerWith(() => (typeof got === 'number' ? answered(got) : PARKED))
  await sandbox.trigger({ scenario })
  expect(await why(sandbox)).toMatchObject({
    signature: { valid: scenario !== 'wrong-secret' },
    scenario: { got: String(got), passed },
  })
})

test('of the secrets of a rotation, the one that matches is reported', async () => {
  const sandbox = controlFixture()
  await sandbox.trigger()
  sandbox.service.engine.rotateSecret(sandbox.endpoint.id)
  expect(await why(sandbox)).toMatchObject({ signature: { valid: true } })
  sandbox.service.engine.rotateSecret(sandbox.endpoint.id, { keepOld: false })
  expect(await why(sandbox)).toMatchObject({ signature: { valid: false, code: 'signature_mismatch' } })
})

test('where the endpoint was removed, its secret is gone', async () => {
  const sandbox = controlFixture()
  await sandbox.trigger()
  sandbox.service.engine.removeEndpoint(sandbox.endpoint.id)
  expect(await why(sandbox)).toEqual({ advice: null, signature: null })
})

test('the plan of a delivery equals its later attempts', async () => {
  const sandbox = controlFixture()
  sandbox.answerWith(() => answered(500))
  await sandbox.trigger()
  const [delivery] = await sandbox.list()
  const plan = await sandbox.read<{
    data: string[]
  }>(`/_sandbox/deliveries/${delivery?.id}/plan`)
  expect(plan.data).toHaveLength(10)
  await sandbox.post('/clock', { advance: '72h' })
  const done = sandbox.service.engine.delivery(String(delivery?.id))
  expect(done?.status).toBe('failed')
  const times = done?.attempts.map(({ virtualMs }) => new Date(virtualMs).toISOString())
  expect(times).toEqual([NOW, ...plan.data])
  expect(await sandbox.read(`/_sandbox/deliveries/${delivery?.id}/plan`)).toEqual({
    data: [],
  })
})

test('a scenario has one verdict: an attempt that was answered right names the one that was not', async () => {
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

test('a resend leaves the verdict on a scenario as it is', async () => {
  const sandbox = controlFixture()
  for (const [first, second, status] of [
    [500, 200, 'wrong_answer'],
    [200, 500, 'passed'],
  ] as const) {
    sandbox.answerWith(() => answered(first))
    await sandbox.trigger({ scenario: 'valid' })
    sandbox.answerWith(() => answered(second))
    const [{ id = '' } = {}] = await sandbox.list()
    await sandbox.post(`/deliveries/${id}/resend`, {})
    expect(await sandbox.list()).toMatchObject([
      { id, status, scenario: 'valid', attempts: [{}, {}] },
      ...Array((await sandbox.list()).length - 1).fill({}),
    ])
  }
  expect(sandbox.service.engine.totals()).toMatchObject({
    delivered: 0,
    failed: 0,
    passed: 1,
    wrong_answer: 1,
  })
})

test('of a signature that is as it should be there is no advice', async () => {
  const sandbox = controlFixture()
  sandbox.answerWith(() => answered(401))
  await sandbox.trigger({ scenario: 'stale' })
  expect(await why(sandbox)).toMatchObject({
    advice: null,
    signature: { code: 'timestamp_too_old', reason: 'The scenario made it so.', findings: [] },
  })
  await sandbox.trigger()
  sandbox.service.engine.rotateSecret(sandbox.endpoint.id, { keepOld: false })
  expect(await why(sandbox)).toMatchObject({
    signature: { reason: 'It was signed with a secret that the endpoint no longer has.', findings: [] },
  })
})

test('without the exact body there is neither a verdict on the signature nor a command', async () => {
  const sandbox = controlFixture()
  await sandbox.trigger({ scenario: 'large' })
  const [delivery] = sandbox.service.engine.deliveries()
  const attempt = delivery?.attempts[0]
  expect(attempt).toMatchObject({ inexact: true })
  expect(await why(sandbox)).toMatchObject({ signature: null, scenario: { passed: true } })
  const curl = await sandbox.call('GET', `/_sandbox/deliveries/${delivery?.id}/attempts/${attempt?.id}/curl`)
  expect([curl.status, curl.code]).toEqual([409, 'body_not_kept'])
  sandbox.service.engine.removeEndpoint(sandbox.endpoint.id)
  const unsigned = await sandbox.call('GET', `/_sandbox/deliveries/${delivery?.id}/curl`)
  expect([unsigned.status, unsigned.code]).toEqual([409, 'endpoint_removed'])
})
