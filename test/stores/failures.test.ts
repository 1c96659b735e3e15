import { failureCases } from 'tix-webhooks/testing'
import { afterAll, beforeAll, test } from 'vitest'
import { FAILURE_KINDS, type FailureBackend } from '../support/failure-backends.js'

for (const { name, describe, open } of FAILURE_KINDS) {
  describe(`${name}:`, () => {
    let backend: FailureBackend
    beforeAll(async () => {
      backend = await open()
    })
    afterAll(() => backend.close())

    test.each(failureCases.map(({ id, name, run }) => [id, name, run] as const))(
      '%s: they %s',
      (_id, _name, run) => run(backend),
    )
  })
}
