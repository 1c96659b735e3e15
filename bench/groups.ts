import { crowd } from './crowd/crowd.js'
import { http } from './http/throughput.js'
import { loading } from './loading/loading.js'
import { growth } from './receiver/growth.js'
import { heap } from './receiver/heap.js'
import { receive } from './receiver/receive.js'
import { telemetry } from './receiver/telemetry.js'
import { verify } from './receiver/verify.js'
import { sandbox } from './sandbox/load.js'
import { page } from './sandbox/page.js'
import { mysql } from './stores/at-mysql.js'
import { bursts } from './stores/bursts.js'
import { inTransaction } from './stores/in-transaction.js'
import { inbox } from './stores/inbox.js'
import { ledger } from './stores/ledger.js'
import { million } from './stores/million.js'
import { purging } from './stores/purging.js'
import { stores } from './stores/rate.js'
import { redisDelivery } from './stores/redis-delivery.js'
import { roundTrips } from './stores/round-trips.js'
import type { Group } from './support/bench.js'

/** The measurements of `npm run bench`, in this order. */
export const groups: readonly Group[] = [
  verify,
  receive,
  http,
  bursts,
  inbox,
  mysql,
  crowd,
  roundTrips,
  stores,
  redisDelivery,
  inTransaction,
  telemetry,
  growth,
  heap,
  million,
  ledger,
  purging,
  loading,
  sandbox,
  page,
]
