import fc from 'fast-check'
import { afterAll, beforeAll, test } from 'vitest'
import { play } from '../support/failure-model/play.js'
import { HISTORIES } from '../support/failure-model/steps.js'
import type { World } from '../support/failure-model/world.js'
import { WORLDS } from '../support/failure-model/worlds.js'
import { runs } from '../support/runs.js'

for (const { name, describe, runs: usual, use } of WORLDS) {
  describe(`${name}:`, () => {
    const open = use()
    let world: World
    beforeAll(async () => {
      world = await open()
    })
    afterAll(() => world.close())

    test('keeps and handles what the model does, whatever fails, dies or is replayed', async () => {
      const property = fc.asyncProperty(HISTORIES, (history) => play(history, world))
      await fc.assert(property, { numRuns: runs(usual), endOnFailure: false })
    })
  })
}
