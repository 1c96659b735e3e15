import { expect, test } from 'vitest'
import { OWN_STORE_KINDS } from '../support/backends.js'
import { HANDLED_FACTS, handledFacts } from '../support/handled-facts.js'
import { notRefusedKeys } from '../support/invalid-inputs.js'

for (const { name, describe, open } of OWN_STORE_KINDS) {
  describe(`isHandled of ${name}`, () => {
    test('is true for a completed record within its retention, and for nothing else', async () => {
      const backend = await open()
      try {
        expect(await handledFacts(backend)).toEqual(HANDLED_FACTS)
        expect(await notRefusedKeys(await backend.create())).toEqual([])
      } finally {
        await backend.close()
      }
    })
  })
}
