import { afterAll, beforeAll, test } from 'vitest'
import {
  isOfOneMysqlClient,
  MYSQL_KINDS,
  type OpenBackend,
  POSTGRES_KINDS,
  SQLITE_KINDS,
  STORE_KINDS,
} from '../support/backends.js'
import { onMysql } from '../support/on-servers.js'
import { purgeRaces, raceCases } from '../support/races.js'
import { runs } from '../support/runs.js'

// The memory store has a test of its own, whose calls overtake one another.
for (const { name, describe, open } of STORE_KINDS.slice(1).filter(isOfOneMysqlClient)) {
  describe(`${name}:`, () => {
    let backend: OpenBackend
    beforeAll(async () => {
      backend = await open()
    })
    afterAll(() => backend.close())

    const proxy = { name, create: () => backend.create(), advance: (ms: number) => backend.advance(ms) }
    test.each(
      raceCases(proxy, {
        histories: runs(describe === onMysql ? 30 : 60),
        rounds: runs(describe === onMysql ? 2 : 4),
      }),
    )('%s', { timeout: 60_000 }, (_name, run) => run())
  })
}

const PURGING = [...POSTGRES_KINDS, ...MYSQL_KINDS, ...SQLITE_KINDS]

for (const { name, describe, open } of PURGING.filter(isOfOneMysqlClient)) {
  describe(`${name}:`, () => {
    let backend: Awaited<ReturnType<typeof open>>
    beforeAll(async () => {
      backend = await open()
    })
    afterAll(() => backend.close())

    const proxy = { name, create: () => backend.create(), advance: (ms: number) => backend.advance(ms) }
    test.each(purgeRaces(proxy, { rounds: runs(describe === onMysql ? 1 : 4) }))(
      '%s',
      { timeout: 60_000 },
      (_name, run) => run(),
    )
  })
}
