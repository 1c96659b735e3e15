import { describe, expect, test } from 'vitest'
import type { SendResult } from '../../../engine/network/send.js'
import { barrier } from '../../support/engine-fixture.js'
import { answered, controlFixture, HOOKS, told } from '../../support/http-sandbox.js'

describe('a resend', () => {
  test('[N128] sends the same bytes, and answers the attempt', async () => {
    const sandbox = controlFixture()
    await sandbox.trigger()
    const [delivery] = await sandbox.list()
    const answer = await sandbox.post(`/deliveries/${delivery?.id}/resend`)
    expect(answer.status).toBe(200)
    expect(answer.json()).toMatchObject({
      number: 2,
      trigger: 'manual',
      url: HOOKS,
      response: { status: 204 },
    })
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
    expect((await sandbox.post('/resend', { since: '1h' })).json()).toEqual({
      data: [],
      left_out: { removed: 1, disabled: 0, spoilt: 0 },
    })
    expect(told(await sandbox.post(path, { to: HOOKS }))).toEqual([409, 'endpoint_removed'])
  })
})

describe('what waits for its turn when', () => {
  /** Five are resent, of which an endpoint gets four at a time. */
  async function resendFive() {
    const sandbox = controlFixture()
    await sandbox.trigger({ repeat: 5 })
    const answer = barrier<SendResult>()
    const four = barrier()
    sandbox.answerWith(() => {
      if (sandbox.sent.length === 9) four.open()
      return answer.opened
    })
    const ids = (await sandbox.list()).map(({ id }) => id)
    return { ...sandbox, ids, fourAreSent: four.opened, answerAll: () => answer.open(answered(204)) }
  }
  type Stage = Awaited<ReturnType<typeof resendFive>>
  const removes = ({ service, endpoint }: Stage) => service.engine.removeEndpoint(endpoint.id)
  const resets = ({ service }: Stage) => service.reset()

  test.each([
    ['its endpoint is removed', removes, [409, 'endpoint_removed']],
    ['all is forgotten', resets, [404, 'resource_missing']],
  ] as const)('%s is refused', async (_, happens, refusal) => {
    const sandbox = await resendFive()
    const answers = sandbox.ids.map((id) => sandbox.post(`/deliveries/${id}/resend`))
    await sandbox.fourAreSent
    happens(sandbox)
    sandbox.answerAll()
    const [last, ...others] = (await Promise.all(answers)).reverse()
    expect(last && told(last)).toEqual(refusal)
    expect(others.map(({ status }) => status)).toEqual([200, 200, 200, 200])
    expect(sandbox.failures).toEqual([])
  })

  test.each([
    ['the endpoint of many is removed', removes],
    ['many are forgotten', resets],
  ] as const)('%s is left out, and the others are listed', async (_, happens) => {
    const sandbox = await resendFive()
    const answer = sandbox.post('/resend', { since: '1h' })
    await sandbox.fourAreSent
    happens(sandbox)
    sandbox.answerAll()
    const { status, json } = await answer
    expect([status, json<{ data: object[] }>().data]).toMatchObject([
      200,
      Array.from({ length: 4 }, () => ({ attempt: { response: { status: 204 } } })),
    ])
    expect(sandbox.failures).toEqual([])
  })
})

describe('resending many', () => {
  test('[N131] takes what failed or was skipped, the oldest first', async () => {
    const sandbox = controlFixture()
    await sandbox.trigger()
    sandbox.answerWith(() => answered(500))
    await sandbox.trigger({ kind: 'event.published' })
    await sandbox.post('/clock', { advance: '73h' })
    await sandbox.call('PATCH', `/_sandbox/endpoints/${sandbox.endpoint.id}`, { body: { enabled: false } })
    await sandbox.trigger({ kind: 'event.cancelled' })
    await sandbox.call('PATCH', `/_sandbox/endpoints/${sandbox.endpoint.id}`, { body: { enabled: true } })
    expect((await sandbox.list()).map(({ status }) => status)).toEqual(['skipped', 'failed', 'delivered'])

    sandbox.answerWith(() => answered(204))
    const { data } = (await sandbox.post('/resend', { failed: true })).json<{ data: object[] }>()
    const [skipped, failed] = await sandbox.list()
    expect(data).toMatchObject([
      { delivery: failed?.id, attempt: { trigger: 'manual', response: { status: 204 } } },
      { delivery: skipped?.id, attempt: { trigger: 'manual' } },
    ])
    expect(new Set((await sandbox.list()).map(({ status }) => status))).toEqual(new Set(['delivered']))
  })

  test('takes what was sent since then', async () => {
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
