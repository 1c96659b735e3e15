import { verifySignature } from 'tix-webhooks'
import { describe, expect, test } from 'vitest'
import { SECRET } from '../../../test/support/deliveries.js'
import { barrier, engineFixture, type FixtureAnswer, HOUR_MS } from '../support/engine-fixture.js'
import { verifiesPlainly } from '../support/plain-verifier.js'

const URL_OF = 'http://localhost:3000/hooks'

describe('an endpoint', () => {
  test('[S87] [N119] has defaults: everything of the test account, enabled, a secret of its own', () => {
    const { engine } = engineFixture({ endpoints: [] })
    const endpoint = engine.createEndpoint({ url: URL_OF })
    expect(endpoint).toEqual({
      id: expect.stringMatching(/^we_[0-9A-Za-z]{20}$/),
      url: URL_OF,
      events: ['*'],
      secrets: [expect.stringMatching(/^whsec_[0-9A-Za-z]{32}$/)],
      enabled: true,
      mode: 'test',
    })
    expect(engine.endpoint(endpoint.id)).toEqual(endpoint)
    const other = engine.createEndpoint({ url: URL_OF })
    expect(other.secrets).not.toEqual(endpoint.secrets)
    expect(engine.endpoints()).toEqual([endpoint, other])
  })

  test('may be one of 100, not more', () => {
    const { engine } = engineFixture({ endpoints: [] })
    for (let count = 0; count < 100; count++) engine.createEndpoint({ url: URL_OF })
    expect(() => engine.createEndpoint({ url: URL_OF })).toThrow('There are 100 endpoints already')
  })
})

describe('a message goes to the endpoints that', () => {
  test.each([
    [['*'], 'anything.at.all', true],
    [['order.created'], 'order.created', true],
    [['order.created'], 'order.created.twice', false],
    [['order.created'], 'order', false],
    [['event.*'], 'event.published', true],
    [['event.*'], 'event.dates.changed', true],
    [['event.*'], 'event', false],
    [['event.*'], 'events.published', false],
    [['order.created', 'event.*'], 'event.cancelled', true],
    [['order.created', 'event.published'], 'event.cancelled', false],
  ])('[S86] subscribe to its kind: %j to %s: %j', (events, type, isSubscribed) => {
    const { engine, publish } = engineFixture({ endpoints: [{ url: URL_OF, events }] })
    publish(type)
    expect(engine.deliveries()).toHaveLength(isSubscribed ? 1 : 0)
  })

  test('are of its account', () => {
    const { engine } = engineFixture({ endpoints: [{ url: URL_OF }, { url: URL_OF, mode: 'live' }] })
    const [test, live] = engine.endpoints()
    const message = engine.publish({ mode: 'live', type: 'order.created', data: {} })
    expect(engine.deliveriesOf(message).map(({ endpointId }) => endpointId)).toEqual([live?.id])
    const other = engine.publish({ mode: 'test', type: 'order.created', data: {} })
    expect(engine.deliveriesOf(other).map(({ endpointId }) => endpointId)).toEqual([test?.id])
  })
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
    const hold = barrier<number>()
    const { engine, clock, publish, at, endpointId, received } = engineFixture({
      answer: (): FixtureAnswer => hold.opened,
    })
    const id = publish()
    while (received.length === 0) await new Promise((resolve) => setImmediate(resolve))
    engine.updateEndpoint(endpointId, { enabled: false })
    engine.updateEndpoint(endpointId, { enabled: true })
    hold.open(answer)
    await clock.advanceBy(72 * HOUR_MS)
    expect(at(id)).toMatchObject({ status, attempts: [{ response: { status: answer } }] })
    expect(received).toHaveLength(1)
  })
})

test('[N121] an endpoint that always fails, or answers 410, stays enabled', async () => {
  const { engine, clock, publish, at, endpointId } = engineFixture({ answer: () => 410 })
  const id = publish()
  await clock.advanceBy(72 * HOUR_MS)
  expect(at(id).status).toBe('failed')
  expect(engine.endpoint(endpointId)?.enabled).toBe(true)
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
