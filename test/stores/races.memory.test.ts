import { describe, test } from 'vitest'
import { brokenBackend, purgingBackend } from '../support/broken-stores.js'
import { purgeRaces, raceCases } from '../support/races.js'
import { memoryBackend } from '../support/store-backend.js'

describe('memoryStore:', () => {
  test.each(raceCases(memoryBackend()))('%s', (_name, run) => run())
})

// The failures of the broken stores must be their own, and not those of the backend under them.
describe('the key-value backend of the broken stores, with nothing broken:', () => {
  test.each(raceCases(brokenBackend('none')))('%s', (_name, run) => run())
  test.each(purgeRaces(purgingBackend(true)))('%s', (_name, run) => run())
})
