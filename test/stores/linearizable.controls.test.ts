import { describe, expect, test } from 'vitest'
import { linearize } from '../support/linearizable.js'
import { purgeRaces, type RaceCase, raceCases } from '../support/races.js'
import { delayed, memoryBackend, type StoreBackend } from '../support/store-backend.js'
import { randomHistories, type StoreHistory } from '../support/store-history.js'
import { FAULTY_STORES } from '../support/testing/faulty-stores.js'
import { createBackend, type ModelStore, modelStore } from '../support/testing/model-store.js'
import { type Patch, rowsOf } from '../support/testing/patched.js'

const NAMES = [
  'race-fresh, fault 1',
  'claim-held, fault 3',
  'claim-takeover, fault 1',
  'release-stranger, fault 1',
  'complete-stranger, fault 1',
  'renew-released, fault 1',
  'claim-resent-released, fault 1',
]
const FAULTS = rowsOf(FAULTY_STORES).filter(({ name }) => NAMES.includes(name))

/** A faulty store, whose calls take a while to arrive; without a fault, the right one. */
function backendOf(patch?: Patch<ModelStore>): StoreBackend<ModelStore> {
  const backend = createBackend()
  return {
    name: patch === undefined ? 'the model' : 'a faulty store',
    create: async () => delayed(modelStore(backend, patch)),
    advance: async (ms) => {
      backend.nowMs += ms
    },
  }
}

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

describe.each(FAULTS)('a store with $name', ({ patch }) => {
  test.each([
    ['', false],
    [' with late calls and lost replies', true],
  ])('is caught by few random histories%s', async (_how, isLossy) => {
    const histories = await play(backendOf(patch), isLossy)
    const caught = histories.filter(({ calls }) => !linearize(calls).isLinearizable)
    expect(caught.length).toBeGreaterThanOrEqual(3)
  })

  test('is caught by a race', async () => {
    const failed = await failuresOf(raceCases(backendOf(patch), { histories: 0 }))
    expect(failed).not.toEqual([])
  })
})

test('a purge that reads what has expired, and then deletes it, is caught by claims of those keys', async () => {
  const failed = await failuresOf(purgeRaces(backendOf(FAULTY_STORES['race-purge'] as Patch<ModelStore>)))
  expect(failed).toContain('claims of expired keys that race purges are granted, and stay granted')
})

test('there are all faults', () => expect(FAULTS).toHaveLength(NAMES.length))

// The failures of the faulty stores must be their own, and not those of the model.
test.each([...raceCases(backendOf()), ...purgeRaces(backendOf())])('the model passes: %s', (_name, run) =>
  run(),
)

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
