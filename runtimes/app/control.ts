import type { AdapterHarness, StoreHarness } from 'tix-webhooks/testing'
import { memoryHarness, runAdapterCases, runStoreCases } from './conformance.js'
import type { Ledger } from './ledger.js'
import { state } from './state.js'

/** What a server gives to be controlled. */
export interface Controlled {
  readonly ledger: Ledger
  /** The endpoints as the adapter made them. */
  readonly endpoints: Readonly<Record<string, { drain(): Promise<void> }>>
  readonly adapter?: AdapterHarness | undefined
  readonly sqlite?: StoreHarness | undefined
}

/** Answers the requests below `/control/` in JSON; `undefined` to any other path. */
export async function control(path: string, { ledger, endpoints, adapter, sqlite }: Controlled) {
  const [, root, action, name = ''] = path.split('/')
  if (root !== 'control') return undefined
  if (action === 'drain') await endpoints[name]?.drain()
  return JSON.stringify(await resultOf(`${action}/${name}`))

  async function resultOf(asked: string): Promise<unknown> {
    if (asked === 'log/') return { ...state, rows: ledger.rows() }
    if (asked === 'adapter-cases/' && adapter) return runAdapterCases(adapter)
    if (asked === 'store-cases/memory') return runStoreCases(memoryHarness())
    if (asked === 'store-cases/sqlite' && sqlite) return runStoreCases(sqlite)
    return null
  }
}
