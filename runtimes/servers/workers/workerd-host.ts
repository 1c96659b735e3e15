import { readFileSync } from 'node:fs'
import { Miniflare } from 'miniflare'

/** Starts a bundled Worker in workerd: its file, then its compatibility flags. */
const [file = '', ...compatibilityFlags] = process.argv.slice(2)

const { UPSTASH_URL = '', UPSTASH_TOKEN = '', DATABASE_URL = '', NEON_PROXY = '' } = process.env

const miniflare = new Miniflare({
  modules: [{ type: 'ESModule', path: 'worker.mjs', contents: readFileSync(file, 'utf8') }],
  compatibilityDate: '2026-07-01',
  compatibilityFlags,
  d1Databases: { DB: 'lane' },
  durableObjects: { WEBHOOKS: { className: 'LaneObject', useSQLite: true } },
  bindings: { UPSTASH_URL, UPSTASH_TOKEN, DATABASE_URL, NEON_PROXY },
  hyperdrives: DATABASE_URL === '' ? {} : { HYPERDRIVE: DATABASE_URL },
  // Otherwise it would ask the network for the properties of a request.
  cf: false,
})
console.log(`listening ${(await miniflare.ready).port}`)
