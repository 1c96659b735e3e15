import { afterAll, beforeAll, test } from 'vitest'
import { OUR_STORES } from '../support/our-stores.js'
import { purgeRaces, raceCases } from '../support/races.js'
import { runs } from '../support/runs.js'
import type { OpenBackend } from '../support/stores/kinds.js'

for (const { entry, describe, stores, share = 1 } of OUR_STORES) {
  for (const { name, open } of stores.filter(({ isTwin }) => !isTwin)) {
    describe(`${name}:`, () => {
      let backend: OpenBackend
      beforeAll(async () => {
        backend = await open()
      })
      afterAll(() => backend.close())

      const proxy = {
        name,
        create: () => backend.create() as Promise<never>,
        advance: (ms: number) => backend.advance(ms),
      }
      const rounds = runs(4 * share)
      // Those of Redis and of a process expire by themselves.
      const purging = entry === 'redis' || entry === 'index' ? [] : purgeRaces(proxy, { rounds })
      test.each([...raceCases(proxy, { histories: runs(60 * share), rounds }), ...purging])(
        '%s',
        { timeout: 60_000 },
        (_name, run) => run(),
      )
    })
  }
}
