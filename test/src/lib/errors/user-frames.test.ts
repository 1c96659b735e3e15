import { expect, test } from 'vitest'
import { userFrames } from '../../../../src/lib/errors/read-error.js'

const APP = '    at handleOrder (file:///app/orders.js:8:9)'
const APP_ASYNC = '    at async handleOrder (/app/orders.ts:8:9)'
const BUILT_IN = '    at JSON.parse (<anonymous>)'
const LIBRARY = '    at Parser.parse (/app/node_modules/pg-protocol/dist/parser.js:1:2)'
const OURS = '    at callHandler (file:///app/node_modules/tix-webhooks/dist/chunk-36L3SPLK.js:2770:35)'
const OURS_ASYNC = '    at async deliver (file:///app/node_modules/tix-webhooks/dist/express.js:1:2)'
const NODE = '    at process.processTicksAndRejections (node:internal/process/task_queues:95:5)'
const NODE_ANONYMOUS = '    at node:internal/main/run_main_module:28:49'

test.each<[string, kept: readonly string[], cut: readonly string[]]>([
  ['what called the handler', [APP], [OURS, NODE, OURS_ASYNC]],
  ['nothing of built-in functions', [BUILT_IN, APP, BUILT_IN], []],
  ["Node's frames at the end", [LIBRARY, APP], [NODE, NODE_ANONYMOUS]],
  ['no library that failed by itself', [LIBRARY], [NODE]],
  ['none of ours between those of the app', [LIBRARY, APP, OURS, APP_ASYNC], [NODE, OURS]],
  ['not the first frame', [OURS], [NODE, OURS]],
  ['nothing in a bundle', ['    at a (/app/dist/bundle.js:1:2)', '    at b (/app/dist/bundle.js:1:9)'], []],
  ['nothing of a message in lines', ['second line of the message', APP], [OURS]],
])('cuts %s', (_, kept, cut) => {
  expect(userFrames([...kept, ...cut])).toEqual(kept)
})
