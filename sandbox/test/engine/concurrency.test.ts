import { describe, expect, test } from 'vitest'
import { turns } from '../../../test/support/promises.js'
import {
  barrier,
  type EngineFixtureOptions,
  engineFixture,
  type FixtureAnswer,
  HOUR_MS,
  type Received,
} from '../support/engine-fixture.js'

const urls = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ url: `http://localhost:3000/${index}` }))

/** A receiver that answers on command, and counts concurrent requests. */
function counting(options: Pick<EngineFixtureOptions, 'endpoints' | 'serial' | 'schedule'>) {
  const waiting: { received: Received; open: (status: number) => void }[] = []
  const most = new Map<string, number>()
  let under = 0
  const note = (name: string, count: number) => most.set(name, Math.max(most.get(name) ?? 0, count))
  const fixture = engineFixture({
    ...options,
    async answer(received): Promise<number> {
      const hold = barrier<number>()
      waiting.push({ received, open: hold.open })
      under += 1
      note('all', under)
      note(received.url, waiting.filter((one) => one.received.url === received.url).length)
      const status = await hold.opened
      under -= 1
      waiting.splice(
        waiting.findIndex((one) => one.received === received),
        1,
      )
      return status
    },
  })
  /** Answers one attempt after the other until the work has ended; not before `atOnce` wait, so that a slow start is not taken for a limit. */
  async function answerAll({
    atOnce = 1,
    status = 200,
    work = fixture.clock.idle() as Promise<unknown>,
  } = {}) {
    let ended = false
    const end = work.finally(() => {
      ended = true
    })
    while (waiting.length < atOnce) await turns(1)
    while (!ended) {
      await turns(1)
      waiting[0]?.open(status)
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
    for (let count = 0; count < messages; count++) publish()
    await answerAll({ atOnce: limit })
    expect(most.get('all')).toBe(limit)
    expect(engine.counts().delivered).toBe(endpoints * messages)
  })

  test('[N114] four attempts of one endpoint are in progress, resends included', async () => {
    const { publish, engine, answerAll, most } = counting({ endpoints: urls(1) })
    const ids = Array.from({ length: 10 }, () => publish())
    await answerAll()
    const resent = Promise.all(ids.map((id) => engine.resend(id)))
    await answerAll({ atOnce: 4, work: resent })
    expect((await resent).map(({ trigger }) => trigger)).toEqual(Array(10).fill('manual'))
    expect(most.get('all')).toBe(4)
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
  const hold = barrier<number>()
  const { publish, clock, engine } = engineFixture({
    endpoints: urls(2),
    answer: ({ url }): FixtureAnswer => (url.endsWith('/0') ? hold.opened : 200),
  })
  for (let count = 0; count < 50; count++) publish()
  while (engine.counts().delivered < 50) await turns(1)
  const delivered = engine.deliveries({ status: 'delivered' }).map(({ endpointId }) => endpointId)
  expect(new Set(delivered)).toEqual(new Set([engine.endpoints()[1]?.id]))
  hold.open(200)
  await clock.idle()
  expect(engine.counts().delivered).toBe(100)
})

test('an advance awaits every attempt that waits for its turn', async () => {
  const { publish, clock, engine, answerAll } = counting({ endpoints: urls(1), schedule: [1] })
  for (let count = 0; count < 12; count++) publish()
  await answerAll({ status: 500, work: clock.advanceBy(HOUR_MS) })
  expect(engine.counts()).toMatchObject({ failed: 12, pending: 0, retrying: 0 })
})
