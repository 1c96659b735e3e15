import { readFileSync } from 'node:fs'
import { Miniflare } from 'miniflare'

/** Starts a bundled Worker in workerd: its file, then its compatibility flags. */
const [file = '', ...compatibilityFlags] = process.argv.slice(2)

const miniflare = new Miniflare({
  modules: [{ type: 'ESModule', path: 'worker.mjs', contents: readFileSync(file, 'utf8') }],
  compatibilityDate: '2026-07-01',
  compatibilityFlags,
  // Otherwise it would ask the network for the properties of a request.
  cf: false,
})
console.log(`listening ${(await miniflare.ready).port}`)
