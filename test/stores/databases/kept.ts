import type { LedgerStore } from 'tix-webhooks'
import { ledgerCases } from 'tix-webhooks/testing'

const IDS = /^(bytes-|text-|keys|list-filters|groups$)/

/**
 * Runs the cases in which a client or a session could change a value on its way.
 *
 * @param advance moves the dates of the ledger back
 */
export async function expectKept(
  store: LedgerStore,
  advance: (ms: number) => Promise<unknown>,
  ids = IDS,
): Promise<void> {
  for (const { id, run } of ledgerCases) {
    if (ids.test(id))
      await run({ create: async () => store, advance: async (ms) => void (await advance(ms)) })
  }
}
