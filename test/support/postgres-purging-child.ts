// A process whose store purges in the background, and that has nothing else to do after one claim.
import { Pool } from 'pg'
import { postgresStore } from 'tix-webhooks/postgres'

const [connectionString, options] = process.argv.slice(2)
const pool = new Pool({ connectionString, options, allowExitOnIdle: true })
const store = postgresStore(pool, { purgeEverySeconds: 3_600 })
const { status } = await store.claim({ key: 'child', token: 't', leaseMs: 60_000, retainMs: 60_000 })
console.info(status)
