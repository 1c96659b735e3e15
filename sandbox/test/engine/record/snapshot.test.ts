import { describe, expect, test } from 'vitest'
import { noDeliveries } from '../../../engine/record/records.js'
import {
  barrier,
  engineFixture,
  type FixtureAnswer,
  HOUR_MS,
  offsetsOf,
  START_MS,
} from '../../support/engine-fixture.js'

const json = (value: unknown) => JSON.parse(JSON.stringify(value))

/** Some of everything: delivered, retrying, failed, skipped, spoilt, resent. */
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
  const message = engine.createMessage({ mode: 'test', type: 'event.published', data: {} })
  await engine.deliverScenario(fixture.endpointId, message, {
    passes: () => true,
    scenario: 'tampered-byte',
    requests: [{ body: '{}', headers: { 'content-type': 'application/json' } }],
  })
  engine.updateEndpoint(engine.endpoints()[1]?.id ?? '', { enabled: false })
  publish('order.created', { is: 'skipped' })
  publish('event.published', { is: 'ok', but: 'pending' })
  return fixture
}

describe('a snapshot', () => {
  test('[N116] is plain JSON, from which another engine has the same, and gives the same', async () => {
    const { engine, make } = await someOfEverything()
    const snapshot = engine.snapshot()
    expect(json(snapshot)).toEqual(snapshot)
    const counts = engine.counts()
    expect(counts).toEqual({
      ...noDeliveries(),
      ...{ pending: 2, retrying: 1, delivered: 1, failed: 1, skipped: 2, passed: 1 },
    })
    const other = make()
    other.restore(json(snapshot))
    expect(other.snapshot()).toEqual(snapshot)
    expect(other.deliveries()).toEqual(engine.deliveries())
    expect(other.endpoints()).toEqual(engine.endpoints())
    expect(other.counts()).toEqual(counts)
  })
})

describe('after a restart in the midst of the retries', () => {
  test('they go on at the same times, and no attempt is made twice', async () => {
    const [one, other] = [engineFixture({ answer: () => 500 }), engineFixture({ answer: () => 500 })]
    const id = one.publish()
    expect(other.publish()).toBe(id)
    await one.clock.advanceBy(72 * HOUR_MS)
    const expected = offsetsOf(one.at(id))
    expect(expected).toHaveLength(11)

    await other.clock.advanceBy(3 * HOUR_MS)
    const snapshot = json(other.engine.snapshot())
    other.clock.restart({ startMs: other.clock.now(), frozen: true })
    const restarted = other.make()
    restarted.restore(snapshot)
    await other.clock.advanceBy(72 * HOUR_MS)
    const delivery = restarted.delivery(id)
    expect(delivery).toMatchObject({ status: 'failed' })
    expect(delivery && offsetsOf(delivery)).toEqual(expected)
    expect(other.received).toHaveLength(11)
  })

  test('those that are overdue are made at once', async () => {
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

  test('an attempt that was under way is made again, and its old answer is dropped', async () => {
    const hold = barrier<number>()
    const { engine, clock, publish, received, at } = engineFixture({
      answer: (_, count): FixtureAnswer => (count === 1 ? hold.opened : 500),
      jitter: 0,
    })
    const id = publish()
    while (received.length === 0) await new Promise((resolve) => setImmediate(resolve))
    engine.restore(json(engine.snapshot()))
    while (received.length < 2) await new Promise((resolve) => setImmediate(resolve))
    hold.open(200)
    await clock.idle()
    expect(at(id)).toMatchObject({ status: 'retrying', attempts: [{ response: { status: 500 } }] })
    expect(at(id).attempts).toHaveLength(1)
  })

  test('what was spoilt on purpose and under way is left out', async () => {
    const hold = barrier<number>()
    const { engine, received, endpointId, clock } = engineFixture({
      answer: (): FixtureAnswer => hold.opened,
    })
    const message = engine.createMessage({ mode: 'test', type: 'a', data: {} })
    const spoilt = engine.deliverScenario(endpointId, message, {
      passes: () => true,
      scenario: 's',
      requests: [{ body: 'x', headers: {} }],
    })
    while (received.length === 0) await new Promise((resolve) => setImmediate(resolve))
    expect(engine.snapshot()).toMatchObject({ deliveries: [], messages: [] })
    hold.open(200)
    await spoilt
    await clock.idle()
  })

  test('messages are created later than those before, and ids are new', async () => {
    const { engine, make } = engineFixture()
    const before = Array.from({ length: 3 }, () => engine.publish({ mode: 'test', type: 'a', data: {} }))
    const restarted = make()
    restarted.restore(json(engine.snapshot()))
    const after = restarted.publish({ mode: 'test', type: 'a', data: {} })
    expect(Date.parse(after.createdAt)).toBe(Date.parse(before[2]?.createdAt ?? '') + 1)
    const ids = [...before, after].map(({ id }) => id)
    expect(new Set(ids).size).toBe(4)
    expect(restarted.createEndpoint({ url: 'http://localhost/' }).id).not.toBe(engine.endpoints()[0]?.id)
  })

  test('the latest 1,000 that have ended are known again', { tags: ['slow'] }, async () => {
    const { engine, clock, publish, make } = engineFixture()
    const ids = Array.from({ length: 1000 }, () => publish())
    await clock.idle()
    const restarted = make()
    restarted.restore(json(engine.snapshot()))
    restarted.publish({ mode: 'test', type: 'a', data: {} })
    await clock.idle()
    expect(restarted.counts().delivered).toBe(1000)
    const gone = ids.filter((id) => restarted.delivery(id) === undefined)
    expect(gone).toHaveLength(1)
  })
})

describe('what is no snapshot is refused, and changes nothing:', () => {
  type Saved = Record<string, unknown> & { deliveries: Record<string, unknown>[]; settled: string[] }
  const changed = (change: (saved: Saved) => void) => (saved: Saved) => {
    change(saved)
    return saved
  }

  test.each<[string, (saved: Saved) => unknown, string]>([
    ['nothing', () => undefined, 'they: '],
    ['an empty object', () => ({}), 'latestMessageMs: '],
    [
      'a status that is none',
      changed(({ deliveries }) => Object.assign(deliveries[0] ?? {}, { status: 'lost' })),
      'deliveries.0.status: ',
    ],
    ['an unknown name', changed((saved) => Object.assign(saved, { more: 1 })), 'Unrecognized key: "more"'],
    [
      'a message that is missing',
      changed((saved) => Object.assign(saved, { messages: [] })),
      'is of a message that is not there',
    ],
    [
      'a delivery that waits for nothing',
      changed(({ deliveries }) => {
        delete deliveries.find(({ status }) => status === 'retrying')?.nextAtMs
      }),
      'is retrying, which does not go with its nextAtMs',
    ],
    [
      'one that has ended and waits',
      changed(({ deliveries }) =>
        Object.assign(deliveries.find(({ status }) => status === 'failed') ?? {}, { nextAtMs: 5 }),
      ),
      'is failed, which does not go with its nextAtMs',
    ],
    [
      'an end that is not named',
      changed(({ settled }) => void settled.pop()),
      'settled does not list exactly the deliveries that have ended',
    ],
    [
      'a delivery that is there twice',
      changed(({ deliveries, settled }) => {
        const [first] = deliveries
        deliveries.push({ ...first })
        settled.push(settled[0] ?? '')
      }),
      'settled does not list',
    ],
    [
      'one that waits and is there twice',
      changed(
        ({ deliveries }) =>
          void deliveries.push({ ...deliveries.find(({ status }) => status === 'retrying') }),
      ),
      'a delivery is there twice',
    ],
    [
      'a generator without a state',
      changed((saved) => Object.assign(saved, { random: { ids: [], attempts: [], endpoints: [] } })),
      'random.endpoints: ',
    ],
    [
      'a generator of zeros',
      changed((saved) =>
        Object.assign(saved, {
          random: { ids: [0, 0, 0, 0], attempts: [1, 2, 3, 4], endpoints: [1, 2, 3, 4] },
        }),
      ),
      'zeros alone are no state of a generator',
    ],
  ])('%s', async (_, change, message) => {
    const { engine } = await someOfEverything()
    const before = engine.snapshot()
    const saved = change(json(before))
    expect(() => engine.restore(saved)).toThrow(TypeError)
    expect(() => engine.restore(saved)).toThrow(message)
    expect(engine.snapshot()).toEqual(before)
  })
})

describe('a reset', () => {
  test.each([false, true])(
    'drops the answers of what is under way, and sends nothing that waited for its turn',
    async (keepEndpoints) => {
      const hold = barrier<number>()
      const { engine, publish, received, clock, changes } = engineFixture({
        answer: (): FixtureAnswer => hold.opened,
      })
      for (let count = 0; count < 10; count++) publish()
      while (received.length < 4) await new Promise((resolve) => setImmediate(resolve))
      engine.reset({ keepEndpoints })
      changes.length = 0
      hold.open(500)
      await clock.idle()
      expect(received).toHaveLength(4)
      expect(engine.deliveries()).toEqual([])
      expect(changes).toEqual([])
      expect(clock.nextAt()).toBeUndefined()
    },
  )
})
