import type { Group } from '../support/bench.js'
import { workerBundles } from './bundle.js'
import { coldImports } from './cold.js'
import { types } from './types.js'

/** The costs before the first delivery: start, upload, compile. */
export const loading: Group = {
  id: 'loading',
  async measure(bench) {
    return [await coldImports(bench), ...(await workerBundles(bench)), await types(bench)]
  },
}
