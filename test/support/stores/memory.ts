import { type KeptFailures, memoryFailures } from 'tix-webhooks'
import { describe } from 'vitest'
import { delayed, memoryBackend } from '../store-backend.js'
import type { FailureBackend, OurStore } from './kinds.js'

async function openFailures(): Promise<FailureBackend> {
  const failures = memoryFailures()
  const create = async (): Promise<KeptFailures> => delayed(failures)
  return { create, createSecond: create, purge: (options) => failures.purge(options), close: async () => {} }
}

export const memory: OurStore = {
  entry: 'index',
  expires: true,
  describe,
  stores: [{ name: 'memoryStore', open: async () => ({ ...memoryBackend(), close: async () => {} }) }],
  failures: [{ name: 'memoryFailures', open: openFailures }],
  inboxes: [],
  proof: null,
}
