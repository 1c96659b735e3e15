import type { Failures } from 'tix-webhooks'
import { failureCases } from 'tix-webhooks/testing'

const IDS = /^(keep-|delete|keys|park-attempts|bytes-any|text-any|list-filters|groups)/

/** Runs the cases in which a client or a session could change a value on its way. */
export async function expectKept(failures: Failures, ids = IDS): Promise<void> {
  for (const { id, run } of failureCases) {
    if (ids.test(id)) await run({ create: async () => failures })
  }
}
