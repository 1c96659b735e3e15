import { signedBody } from 'tix-webhooks/testing'
import { describe, expect, test } from 'vitest'
import { SECRET } from '../../../test/support/deliveries.js'
import { deferred, throws, turns } from '../../../test/support/promises.js'
import type { Message } from '../../engine/record/records.js'
import { engineFixture, type FixtureAnswer } from '../support/engine-fixture.js'
import { HOUR_MS } from '../support/ticketing.js'

const tampered = { body: '{"tampered":true}', headers: { 'content-type': 'application/json' } }

type Fixture = ReturnType<typeof engineFixture>

/** The message as it is, signed as the service signs it. */
async function genuine({ body }: Message) {
  const { headers } = await signedBody(body, { secret: SECRET })
  return { body, headers: { 'content-type': 'application/json', ...headers } }
}

describe('a scenario', () => {
  const messageOf = ({ engine }: Fixture) =>
    engine.createMessage({ mode: 'test', type: 'order.created', data: { order: { id: 'ord_1' } } })

  const scenario = { passes: () => true, scenario: 'tampered-byte', requests: [tampered] }

  test('[N115] is one delivery, whose attempts record the scenario and the request, and is not retried', async () => {
    const fixture = engineFixture({ answer: () => 401 })
    const { engine, clock, endpointId, received, changes } = fixture
    const message = messageOf(fixture)
    const requests = [tampered, await genuine(message)]
    const delivery = await engine.deliverScenario(endpointId, message, { ...scenario, requests })
    const recorded = { trigger: 'scenario', scenario: 'tampered-byte', response: { status: 401 } }
    expect(delivery).toMatchObject({
      message,
      endpointId,
      status: 'passed',
      attempts: [
        { number: 1, sentBody: tampered.body, ...recorded },
        { number: 2, ...recorded },
      ],
    })
    expect(delivery.attempts[1]).not.toHaveProperty('sentBody')
    expect(engine.delivery(delivery.id)).toEqual(delivery)
    expect(received.map(({ body }) => body)).toEqual([tampered.body, message.body])
    expect(received[0]?.headers).not.toHaveProperty('x-service-signature')
    const seen = changes.map(({ what }) => what).join(' ')
    expect(seen).toBe('endpoints message delivery attempt attempt delivery')
    await clock.advanceBy(72 * HOUR_MS)
    expect(received).toHaveLength(2)
  })

  test('can be sent to a URL that is no endpoint, and then cannot be resent', async () => {
    const fixture = engineFixture()
    const { engine, received } = fixture
    const to = { url: 'http://localhost:9999/elsewhere' }
    const delivery = await engine.deliverScenario(to, messageOf(fixture), scenario)
    expect([delivery, received]).toMatchObject([{ endpointId: '', attempts: [to] }, [to]])
    await expect(engine.resend(delivery.id)).rejects.toThrow(/^The endpoint of this delivery was removed/)
  })

  test.each([
    [false, 1],
    [true, 12],
  ])('is sent at once or one by one: with atOnce %s, %d at a time', async (atOnce, most) => {
    let current = 0
    let seen = 0
    const fixture = engineFixture({
      answer: async () => {
        current += 1
        seen = Math.max(seen, current)
        do await turns(1)
        while (seen < most)
        current -= 1
        return 200
      },
    })
    const burst = { ...scenario, atOnce, requests: Array(12).fill(tampered) }
    const { attempts } = await fixture.engine.deliverScenario(fixture.endpointId, messageOf(fixture), burst)
    expect(seen).toBe(most)
    expect(attempts.map(({ number }) => number)).toEqual(Array.from({ length: 12 }, (_, index) => index + 1))
  })

  test('is awaited by an advance, and continues if its endpoint is disabled', async () => {
    const hold = deferred<number>()
    const fixture = engineFixture({ answer: (): FixtureAnswer => hold.promise })
    const { engine, clock, endpointId, received } = fixture
    const sent = engine.deliverScenario(endpointId, messageOf(fixture), scenario)
    let advanced = false
    const advance = clock.advanceBy(1000).then(() => {
      advanced = true
    })
    while (received.length === 0) await turns(1)
    engine.updateEndpoint(endpointId, { enabled: false })
    expect(engine.deliveries()).toMatchObject([{ status: 'pending' }])
    expect(advanced).toBe(false)
    hold.resolve(200)
    await advance
    expect((await sent).status).toBe('passed')
  })
})

describe('chaos', () => {
  test('sends nothing before a resend, and nothing more for a delivery that has ended', async () => {
    const hold = deferred<number>()
    const { engine, clock, publish, at, received, endpointId } = engineFixture({
      chaos: () => [{ scenario: 's', ...tampered }],
      answer: (_, count): FixtureAnswer => (count === 1 ? hold.promise : 200),
    })
    const id = publish()
    while (received.length === 0) await turns(1)
    await engine.resend(id)
    expect(at(id).status).toBe('delivered')
    hold.resolve(200)
    await clock.advanceBy(72 * HOUR_MS)
    expect(at(id).attempts.map(({ trigger }) => trigger)).toEqual(['scenario', 'manual'])
    engine.removeEndpoint(endpointId)
  })
  test('that throws is reported, and the attempt is made nevertheless', async () => {
    const error = new Error('too much of it')
    const { clock, publish, at, errors } = engineFixture({ chaos: throws(error) })
    const id = publish()
    await clock.idle()
    expect(errors).toEqual([error])
    expect(at(id).status).toBe('delivered')
  })
})
