import { afterAll, beforeAll, test } from 'vitest'
import {
  MYSQL_KINDS,
  type OpenBackend,
  POSTGRES_KINDS,
  SQLITE_KINDS,
  STORE_KINDS,
} from '../support/backends.js'
import { purgeRaces, raceCases } from '../support/races.js'
import { runs } from '../support/runs.js'

// The memory store has a test of its own, whose calls overtake one another.
for (const { name, describe, open } of STORE_KINDS.slice(1)) {
  describe(`${name}:`, () => {
    let backend: OpenBackend
    beforeAll(async () => {
      backend = await open()
    })
    afterAll(() => backend.close())

    const proxy = { name, create: () => backend.create(), advance: (ms: number) => backend.advance(ms) }
    test.each(raceCases(proxy, { histories: runs(60) }))('%s', { timeout: 60_000 }, (_name, run) => run())
  })
}

for (const { name, describe, open } of [...POSTGRES_KINDS, ...MYSQL_KINDS, ...SQLITE_KINDS]) {
  describe(`${name}:`, () => {
    let backend: Awaited<ReturnType<typeof open>>
    beforeAll(async () => {
      backend = await open()
    })
    afterAll(() => backend.close())

    const proxy = { name, create: () => backend.create(), advance: (ms: number) => backend.advance(ms) }
    test.each(purgeRaces(proxy))('%s', { timeout: 60_000 }, (_name, run) => run())
  })
}
