import { describe, test } from 'vitest'
import { raceCases } from '../support/races.js'
import { memoryBackend } from '../support/store-backend.js'

describe('memoryStore:', () => {
  test.each(raceCases(memoryBackend()))('%s', (_name, run) => run())
})
