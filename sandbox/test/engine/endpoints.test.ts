import { verifySignature } from 'tix-webhooks'
import { describe, expect, test } from 'vitest'
import { SECRET } from '../../../test/support/deliveries.js'
import { deferred, turns } from '../../../test/support/promises.js'
import {
  type EngineFixtureOptions,
  engineFixture,
  type FixtureAnswer,
  type Received,
  verifiesPlainly,
} from '../support/engine-fixture.js'
import { HOUR_MS } from '../support/ticketing.js'

const URL_OF = 'http://localhost:3000/hooks'

test('an endpoint may be one of 100, not more', () => {
  const { engine } = engineFixture({ endpoints: [] })
  for (let count = 0; count < 100; count++) engine.createEndpoint({ url: URL_OF })
  expect(() => engine.createEndpoint({ url: URL_OF })).toThrow('There are 100 endpoints already')
})

test.each([
  [['*'], 'anything.at.all', true],
  [['order.created'], 'order.created', true],
  [['order.created'], 'order.created.twice', false],
  [['event.*'], 'event.published', true],
  [['event.*'], 'event', false],
  [['event.*'], 'events.published', false],
  [['order.created', 'event.*'], 'event.cancelled', true],
])('[S86] an endpoint of %j gets %s: %j', (events, type, isSubscribed) => {
  const { engine, publish } = engineFixture({ endpoints: [{ url: URL_OF, events }] })
  publish(type)
  expect(engine.deliveries()).toHaveLength(isSubscribed ? 1 : 0)
})

describe('an endpoint that is disabled', () => {
  test('[N120] has new messages and those that wait skipped for good, and others are not affected', async () => {
    const { engine, clock, publish, at, endpointId, received, changes } = engineFixture({
      answer: () => 500,
      endpoints: [{ url: URL_OF }, { url: `${URL_OF}/2` }],
    })
    const waiting = publish()
    await clock.idle()
    changes.length = 0
    engine.updateEndpoint(endpointId, { enabled: false })
    expect(at(waiting)).toMatchObject({ status: 'skipped', reason: 'The endpoint was disabled.' })
    expect(changes).toEqual([{ what: 'delivery', delivery: at(waiting) }, { what: 'endpoints' }])
    const later = publish()
    expect(at(later)).toMatchObject({ status: 'skipped', reason: 'The endpoint is disabled.', attempts: [] })
    expect([at(waiting).nextAtMs, at(later).nextAtMs]).toEqual([undefined, undefined])
    engine.updateEndpoint(endpointId, { enabled: true })
    await clock.advanceBy(72 * HOUR_MS)
    const urls = received.map(({ url }) => url)
    expect(urls.filter((url) => url === URL_OF)).toHaveLength(1)
    expect(urls.filter((url) => url !== URL_OF)).toHaveLength(22)
    publish()
    await clock.idle()
    expect(received.filter(({ url }) => url === URL_OF)).toHaveLength(2)
  })

  test.each([
    [200, 'delivered'],
    [500, 'skipped'],
  ] as const)('during an attempt that is answered %d has it %s', async (answer, status) => {
    const hold = deferred<number>()
    const { engine, clock, publish, at, endpointId, received } = engineFixture({
      answer: (): FixtureAnswer => hold.promise,
    })
    const id = publish()
    while (received.length === 0) await new Promise((resolve) => setImmediate(resolve))
    engine.updateEndpoint(endpointId, { enabled: false })
    engine.updateEndpoint(endpointId, { enabled: true })
    hold.resolve(answer)
    await clock.advanceBy(72 * HOUR_MS)
    expect(at(id)).toMatchObject({ status, attempts: [{ response: { status: answer } }] })
    expect(received).toHaveLength(1)
  })
})

test('an endpoint that is removed leaves its deliveries in the log, and has those that wait skipped', async () => {
  const { engine, clock, publish, at, endpointId, received } = engineFixture({ answer: () => 500 })
  const id = publish()
  await clock.idle()
  expect(engine.removeEndpoint(endpointId)).toBe(true)
  expect(engine.removeEndpoint(endpointId)).toBe(false)
  expect(at(id)).toMatchObject({ status: 'skipped', reason: 'The endpoint was removed.', attempts: [{}] })
  await clock.advanceBy(72 * HOUR_MS)
  expect(received).toHaveLength(1)
})

test('[N122] the next retry uses the URL and the secret that the endpoint has by then', async () => {
  const { engine, clock, publish, at, endpointId, received } = engineFixture({
    answer: ({ url }) => (url.endsWith('/right') ? 200 : 404),
  })
  const id = publish()
  await clock.idle()
  engine.updateEndpoint(endpointId, { url: 'http://localhost:3000/right', secret: 'whsec_right' })
  await clock.advanceBy(6000)
  expect(at(id)).toMatchObject({ status: 'delivered' })
  expect(at(id).attempts.map(({ url }) => url)).toEqual([URL_OF, 'http://localhost:3000/right'])
  const last = received.at(-1)
  await verifySignature(last?.body ?? '', last?.header, { secret: 'whsec_right' })
})

describe('a rotation', () => {
  async function headerNow({ publish, clock, received }: ReturnType<typeof engineFixture>) {
    publish()
    await clock.idle()
    const { header = '', body = '' } = received.at(-1) ?? {}
    return { header, body }
  }

  test('[N107] has the new secret sign first, and the old one beside it', async () => {
    const fixture = engineFixture()
    const rotated = fixture.engine.rotateSecret(fixture.endpointId)
    const [fresh = '', old] = rotated?.secrets ?? []
    expect(fresh).toMatch(/^whsec_[0-9A-Za-z]{32}$/)
    expect(old).toBe(SECRET)
    const { header, body } = await headerNow(fixture)
    expect(header.match(/v1=/g)).toHaveLength(2)
    expect(verifiesPlainly(body, header, [fresh, SECRET])).toBe(true)
    expect((await verifySignature(body, header, { secret: SECRET })).secretIndex).toBe(0)
  })

  test.each([
    ['twice leaves the two newest', 'whsec_3', ['whsec_3', 'whsec_2']],
    ['back to the old secret names each once', SECRET, [SECRET, 'whsec_2']],
  ])('%s', (_, secret, secrets) => {
    const { engine, endpointId } = engineFixture()
    engine.rotateSecret(endpointId, { secret: 'whsec_2' })
    expect(engine.rotateSecret(endpointId, { secret })?.secrets).toEqual(secrets)
  })
})

const urls = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ url: `http://localhost:3000/${index}` }))

/** A receiver that answers on command, and counts concurrent requests. */
function counting(options: Pick<EngineFixtureOptions, 'endpoints' | 'serial' | 'schedule'>) {
  const waiting: { received: Received; resolve: (status: number) => void }[] = []
  const most = new Map<string, number>()
  const note = (name: string, count: number) => most.set(name, Math.max(most.get(name) ?? 0, count))
  const fixture = engineFixture({
    ...options,
    async answer(received): Promise<number> {
      const hold = deferred<number>()
      const one = { received, resolve: hold.resolve }
      waiting.push(one)
      note('all', waiting.length)
      note(received.url, waiting.filter((other) => other.received.url === received.url).length)
      const status = await hold.promise
      waiting.splice(waiting.indexOf(one), 1)
      return status
    },
  })
  /** Answers one attempt after the other until the work has ended; not before `atOnce` wait, so that a slow start is not taken for a limit. */
  async function answerAll({ atOnce = 1, work = fixture.clock.idle() as Promise<unknown> } = {}) {
    let ended = false
    const end = work.finally(() => {
      ended = true
    })
    while (waiting.length < atOnce) await turns(1)
    while (!ended) {
      await turns(1)
      waiting[0]?.resolve(200)
    }
    await end
  }
  return { ...fixture, waiting, most, answerAll }
}

describe('at most', () => {
  test.each([
    ['four attempts of one endpoint', 1, 40, 4],
    ['32 attempts in all', 20, 8, 32],
  ])('[N114] %s are in progress', async (_, endpoints, messages, limit) => {
    const { publish, engine, answerAll, most } = counting({ endpoints: urls(endpoints) })
    const ids = Array.from({ length: messages }, () => publish())
    await answerAll({ atOnce: limit })
    expect(engine.counts().delivered).toBe(endpoints * messages)
    // Resends are among them.
    await answerAll({ work: Promise.all(ids.map((id) => engine.resend(id))) })
    expect(most.get('all')).toBe(limit)
  })

  test('[N114] one attempt of each endpoint is in progress with serial, in the order of publishing', async () => {
    const { publish, answerAll, most, received } = counting({ endpoints: urls(3), serial: true })
    for (let count = 0; count < 10; count++) publish('event.published', { count })
    await answerAll({ atOnce: 3 })
    expect(most.get('all')).toBe(3)
    for (const { url } of urls(3)) {
      expect(most.get(url)).toBe(1)
      const counts = received.filter((one) => one.url === url).map(({ body }) => JSON.parse(body).data.count)
      expect(counts).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    }
  })
})

test('a slow endpoint does not delay another', async () => {
  const hold = deferred<number>()
  const { publish, clock, engine } = engineFixture({
    endpoints: urls(2),
    answer: ({ url }): FixtureAnswer => (url.endsWith('/0') ? hold.promise : 200),
  })
  for (let count = 0; count < 50; count++) publish()
  while (engine.counts().delivered < 50) await turns(1)
  const delivered = engine.deliveries({ status: 'delivered' }).map(({ endpointId }) => endpointId)
  expect(new Set(delivered)).toEqual(new Set([engine.endpoints()[1]?.id]))
  hold.resolve(200)
  await clock.idle()
  expect(engine.counts().delivered).toBe(100)
})
