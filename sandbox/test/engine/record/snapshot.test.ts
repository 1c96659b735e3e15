import { describe, expect, test } from 'vitest'
import { deferred, turns } from '../../../../test/support/promises.js'
import { noDeliveries } from '../../../engine/record/records.js'
import { engineFixture, type FixtureAnswer, START_MS } from '../../support/engine-fixture.js'
import { HOUR_MS } from '../../support/ticketing.js'

const json = (value: unknown) => JSON.parse(JSON.stringify(value))

/** Some of everything: delivered, retrying, failed, skipped, of a scenario, resent. */
async function someOfEverything() {
  const fixture = engineFixture({
    answer: ({ body }) => (body.includes('"ok"') ? 200 : new Response('no', { status: 500 })),
    endpoints: [{ url: 'http://localhost:3000/a' }, { url: 'http://localhost:3000/b', events: ['order.*'] }],
  })
  const { engine, clock, publish } = fixture
  publish('event.published', { is: 'ok' })
  publish('event.cancelled', { is: 'failed' })
  await clock.advanceBy(72 * HOUR_MS)
  const retrying = publish('order.created', { is: 'retrying' })
  await clock.advanceBy(7000)
  await engine.resend(retrying)
  engine.rotateSecret(fixture.endpointId)
  await fixture.sendScenario('stale')
  engine.updateEndpoint(engine.endpoints()[1]?.id ?? '', { enabled: false })
  publish('order.created', { is: 'skipped' })
  publish('event.published', { is: 'ok', but: 'pending' })
  return fixture
}

test('[N116] a snapshot is plain JSON, from which another engine restores the same state', async () => {
  const { engine, make } = await someOfEverything()
  const snapshot = engine.snapshot()
  expect(json(snapshot)).toEqual(snapshot)
  const counts = { pending: 2, retrying: 1, delivered: 1, failed: 1, skipped: 2, passed: 1 }
  expect(engine.counts()).toEqual({ ...noDeliveries(), ...counts })
  const other = make()
  other.restore(json(snapshot))
  expect(other.snapshot()).toEqual(snapshot)
  expect(other.deliveries()).toEqual(engine.deliveries())
  expect(other.endpoints()).toEqual(engine.endpoints())
  expect(other.counts()).toEqual(engine.counts())
})

describe('after a restart', () => {
  test('overdue retries are made at once', async () => {
    const { engine, clock, publish, make, received } = engineFixture({ answer: () => 500, jitter: 0 })
    const id = publish()
    await clock.idle()
    const snapshot = json(engine.snapshot())
    clock.restart({ startMs: START_MS + 3 * HOUR_MS, frozen: true })
    const restarted = make()
    restarted.restore(snapshot)
    await clock.idle()
    expect(received).toHaveLength(2)
    expect(restarted.delivery(id)).toMatchObject({ status: 'retrying', nextAtMs: START_MS + 6 * HOUR_MS })
  })

  test('an attempt that was in progress is made again, a scenario is left out, and late answers are dropped', async () => {
    const hold = deferred<number>()
    const answer = (_: unknown, count: number): FixtureAnswer => (count <= 2 ? hold.promise : 500)
    const { engine, clock, publish, received, sendScenario, at } = engineFixture({ answer, jitter: 0 })
    const id = publish()
    const sent = sendScenario('stale')
    while (received.length < 2) await turns(1)
    engine.restore(json(engine.snapshot()))
    while (received.length < 3) await turns(1)
    hold.resolve(200)
    await sent
    await clock.idle()
    expect(at(id).status).toBe('retrying')
    expect(at(id).attempts.map(({ response }) => response?.status)).toEqual([500])
    expect(engine.deliveries()).toHaveLength(1)
  })
})

describe('a snapshot is refused, and nothing changes, if it has', () => {
  type Json = Record<string, unknown>
  type Saved = Json & { deliveries: Json[]; settled: string[] }
  const its = ({ deliveries }: Saved, status: string) => deliveries.find((one) => one.status === status) ?? {}
  const settled = 'settled does not list exactly the deliveries that have ended'

  test.each<[string, (saved: Saved) => unknown, string]>([
    ['an unknown field', (it) => Object.assign(it, { more: 1 }), 'Unrecognized key: "more"'],
    [
      'a retry without a time',
      (it) => delete its(it, 'retrying').nextAtMs,
      'is retrying, which does not go with its nextAtMs',
    ],
    [
      'a time after the end',
      (it) => Object.assign(its(it, 'failed'), { nextAtMs: 5 }),
      'is failed, which does not go with its nextAtMs',
    ],
    ['an end that is not listed', (it) => it.settled.pop(), settled],
    [
      'a settled delivery twice',
      (it) => [it.deliveries.push({ ...it.deliveries[0] }), it.settled.push(it.settled[0] ?? '')],
      settled,
    ],
    [
      'a waiting delivery twice',
      (it) => it.deliveries.push({ ...its(it, 'retrying') }),
      'a delivery is there twice',
    ],
  ])('%s', async (_, change, message) => {
    const { engine } = await someOfEverything()
    const before = engine.snapshot()
    const saved = json(before)
    change(saved)
    expect(() => engine.restore(saved)).toThrow(TypeError)
    expect(() => engine.restore(saved)).toThrow(message)
    expect(() => engine.restore(undefined)).toThrow('they: ')
    expect(engine.snapshot()).toEqual(before)
  })
})
