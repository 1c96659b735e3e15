import { describe, expect, test } from 'vitest'
import { brokenBackend, FAULTS, purgingBackend } from '../support/broken-stores.js'
import { linearize } from '../support/linearizable.js'
import { purgeRaces, type RaceCase, raceCases } from '../support/races.js'
import { memoryBackend, type StoreBackend } from '../support/store-backend.js'
import { randomHistories, type StoreHistory } from '../support/store-history.js'

async function play(backend: StoreBackend, isLossy: boolean): Promise<StoreHistory[]> {
  const clients = [await backend.create(), await backend.create()]
  return randomHistories(clients, backend, { count: 200, isLossy, seed: 3 })
}

async function failuresOf(cases: readonly RaceCase[]): Promise<string[]> {
  const failed: string[] = []
  for (const [name, run] of cases) {
    await run().catch(() => {
      failed.push(name)
    })
  }
  return failed
}

describe.each(FAULTS)('a store with %s', (fault) => {
  test.each([
    ['', false],
    [' with late calls and lost replies', true],
  ])('is caught by few random histories%s', async (_how, isLossy) => {
    const histories = await play(brokenBackend(fault), isLossy)
    const caught = histories.filter(({ calls }) => !linearize(calls).isLinearizable)
    expect(caught.length).toBeGreaterThanOrEqual(3)
  })

  test('is caught by a race', async () => {
    const failed = await failuresOf(raceCases(brokenBackend(fault), { histories: 0 }))
    expect(failed).not.toEqual([])
  })
})

test('a purge that reads what has expired, and then deletes it, is caught by claims of those keys', async () => {
  const failed = await failuresOf(purgeRaces(purgingBackend(false)))
  expect(failed).toContain('claims of expired keys that race purges are granted, and stay granted')
})

test('random histories reach what they are about: overlaps, takeovers, retries, completions, expiry and lost replies', async () => {
  const histories = await play(memoryBackend(), true)
  const reached = histories.map(({ calls }) => {
    const some = (has: (recorded: (typeof calls)[number]) => boolean) => calls.some(has)
    const attempts = calls.map(({ answer }) =>
      typeof answer === 'object' && answer.status === 'claimed' ? answer.attempt : 0,
    )
    return {
      overlap: some((one) =>
        calls.some(({ start }) => start > one.start && start < one.end && one.end < Infinity),
      ),
      thirdAttempt: Math.max(...attempts) >= 3,
      completed: some(({ answer }) => typeof answer === 'object' && answer.status === 'completed'),
      renewed: some(({ call, answer }) => call.do === 'renew' && answer === true),
      refused: some(({ call, answer }) => call.do !== 'claim' && answer === false),
      lost: some(({ end }) => end === Infinity),
    }
  })
  for (const what of ['overlap', 'thirdAttempt', 'completed', 'renewed', 'refused', 'lost'] as const) {
    expect(reached.filter((each) => each[what]).length, what).toBeGreaterThan(20)
  }
})
