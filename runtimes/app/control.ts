import type { AdapterHarness } from 'tix-webhooks/testing'
import type { Backends } from './backends.js'
import { memoryHarness, runAdapterCases, runStoreCases } from './conformance.js'
import type { LaneInbox } from './lane-inbox.js'
import { state } from './state.js'

/** The parts of a server that the cases control. */
export interface Controlled {
  readonly laneInbox: LaneInbox
  /** The endpoints as the adapter made them. */
  readonly endpoints: Readonly<Record<string, { drain(): Promise<void> }>>
  readonly adapter?: AdapterHarness | undefined
  readonly backends?: Backends | undefined
}

/** Answers the requests below `/control/` in JSON; `undefined` to any other path. */
export async function control(path: string, { laneInbox, endpoints, adapter, backends = {} }: Controlled) {
  // Some hosts mount the app below a path of theirs.
  const [, asked] = path.split('/control/')
  if (asked === undefined) return undefined
  const [action, name = ''] = asked.split('/')
  if (action === 'drain') await endpoints[name]?.drain()
  return JSON.stringify(await resultOf(`${action}/${name}`))

  async function resultOf(what: string): Promise<unknown> {
    if (what === 'log/') return { ...state, rows: laneInbox.rows() }
    if (what === 'adapter-cases/' && adapter) return runAdapterCases(adapter)
    if (what === 'store-cases/memory') return runStoreCases(memoryHarness())
    const { harness, rows, roundTrips } = backends[name] ?? {}
    if (action === 'store-cases' && harness) return runStoreCases(harness)
    if (action === 'round-trips') return roundTrips?.()
    if (action === 'rows') return rows?.()
    return null
  }
}
