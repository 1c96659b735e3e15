import fc from 'fast-check'
import { afterAll, beforeAll, test } from 'vitest'
import { play } from '../support/event-model/play.js'
import { HISTORIES } from '../support/event-model/steps.js'
import type { World } from '../support/event-model/world.js'
import { WORLDS } from '../support/event-model/worlds.js'
import { runs } from '../support/runs.js'

for (const { name, describe, runs: usual, use } of WORLDS) {
  describe(`${name}:`, () => {
    const open = use()
    let world: World
    beforeAll(async () => {
      world = await open()
    })
    afterAll(() => world.close())

    test('knows of each event what the model does, whatever fails, dies or is replayed', async () => {
      const property = fc.asyncProperty(HISTORIES, (history) => play(history, world))
      await fc.assert(property, { numRuns: runs(usual), endOnFailure: false })
    })
  })
}
