/** One call of a handler. */
export interface Run {
  readonly endpoint: string
  readonly id: string
  readonly attempt: number | undefined
  readonly secretIndex: number
  aborted: boolean
  ended: boolean
}

/** One record of `onDelivery`. */
interface Recorded {
  readonly endpoint: string
  readonly outcome: string
  readonly status: number
  readonly code: string | undefined
  readonly key: string | undefined
}

/** All that happened in this server, for the cases to read. */
export interface State {
  readonly runs: Run[]
  readonly records: Recorded[]
  readonly reports: string[]
}

const NAME = Symbol.for('tix-webhooks-lane')
const shared = globalThis as { [NAME]?: State }

/** One for the whole server: some hosts load a module once for each route. */
export const state: State = shared[NAME] ?? { runs: [], records: [], reports: [] }
shared[NAME] = state
