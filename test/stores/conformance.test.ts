import { storeCases } from 'tix-webhooks/testing'
import { afterAll, beforeAll, test } from 'vitest'
import { type OpenBackend, STORE_KINDS } from '../support/backends.js'

for (const { name, describe, open } of STORE_KINDS) {
  describe(`${name}:`, () => {
    let backend: OpenBackend
    beforeAll(async () => {
      backend = await open()
    })
    afterAll(() => backend.close())

    test.each(storeCases.map(({ id, name, run }) => [id, name, run] as const))(
      '%s: it %s',
      (_id, _name, run) => run(backend),
    )
  })
}
