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
function counting({
  endpoints,
  ...options
}: Pick<EngineFixtureOptions, 'endpoints' | 'serial' | 'schedule'>) {
  const waiting: { received: Received; open: (status: number) => void }[] = []
  const most = new Map<string, number>()
  let under = 0
  const note = (name: string, count: number) => most.set(name, Math.max(most.get(name) ?? 0, count))
  const fixture = engineFixture({
    ...(endpoints && { endpoints }),
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
  /**
   * Answers one attempt after the other, from the moment when so many wait for an answer, until the given work has ended:
   * by default until the clock is idle. Otherwise a slow start of the attempts would be counted, and not the limit of the engine.
   */
  async function answerAll({
    atOnce = 1,
    status = 200,
    work = fixture.clock.idle(),
  }: {
    atOnce?: number
    status?: number
    work?: Promise<unknown>
  } = {}): Promise<void> {
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

describe('at once there are', () => {
  test('[N114] four attempts for one endpoint', async () => {
    const { publish, engine, answerAll, most, received } = counting({ endpoints: urls(1) })
    for (let count = 0; count < 40; count++) publish()
    await answerAll({ atOnce: 4 })
    expect(most.get('all')).toBe(4)
    expect(received).toHaveLength(40)
    expect(engine.counts().delivered).toBe(40)
  })

  test('[N114] 32 attempts in all', async () => {
    const { publish, engine, answerAll, most } = counting({ endpoints: urls(20) })
    for (let count = 0; count < 8; count++) publish()
    await answerAll({ atOnce: 32 })
    expect(most.get('all')).toBe(32)
    expect(engine.counts().delivered).toBe(160)
  })

  test('resends among them', async () => {
    const { publish, engine, answerAll, most } = counting({ endpoints: urls(1) })
    const ids = Array.from({ length: 10 }, () => publish())
    await answerAll()
    const resent = Promise.all(ids.map((id) => engine.resend(id)))
    await answerAll({ atOnce: 4, work: resent })
    expect((await resent).map(({ trigger }) => trigger)).toEqual(Array(10).fill('manual'))
    expect(most.get('all')).toBe(4)
  })
})

describe('one at a time', () => {
  test('[N114] for each endpoint, in the order of publishing, where that was asked for', async () => {
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

describe('an endpoint that is slow', () => {
  test('holds up no other', async () => {
    const hold = barrier<number>()
    const { publish, clock, engine } = engineFixture({
      endpoints: urls(2),
      answer: ({ url }): FixtureAnswer => (url.endsWith('/0') ? hold.opened : 200),
    })
    for (let count = 0; count < 50; count++) publish()
    while (engine.counts().delivered < 50) await turns(1)
    expect(
      engine
        .deliveries({ status: 'delivered' })
        .every(({ endpointId }) => endpointId === engine.endpoints()[1]?.id),
    ).toBe(true)
    hold.open(200)
    await clock.idle()
    expect(engine.counts().delivered).toBe(100)
  })
})

test('an advance awaits every attempt that waits for its turn', async () => {
  const { publish, clock, engine, answerAll } = counting({ endpoints: urls(1), schedule: [1] })
  for (let count = 0; count < 12; count++) publish()
  await answerAll({ status: 500, work: clock.advanceBy(HOUR_MS) })
  expect(engine.counts()).toMatchObject({ failed: 12, pending: 0, retrying: 0 })
})
