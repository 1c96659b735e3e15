import * as z from 'zod'
import type { Account } from '../../domain/account.js'
import { utcText } from '../../domain/events/moments.js'
import { ASSUMPTIONS, type AssumptionName } from '../../service/assumptions.js'
import type { Service } from '../../service/service.js'
import type { App } from '../context.js'
import { KEPT_REQUESTS } from '../request-log.js'
import { clockJson } from './clock.js'
import { listQuery } from './deliveries.js'
import { endpointJson } from './endpoints.js'
import { faultJson } from './faults.js'
import { readBody, readParameters } from './input.js'
import { briefJson, deliveryJson } from './json/delivery-json.js'
import { requestJson } from './json/request-json.js'
import type { ControlParts } from './parts.js'
import type { StatusView } from './views.js'

/** How many requests and events the state shows: the latest. */
const SHOWN = 100

const requestsQuery = z.strictObject({ limit: z.int().min(1).max(KEPT_REQUESTS).default(100) })

/** Adds the routes about the sandbox as a whole, and its reset. */
export function addState(app: App, parts: ControlParts): void {
  const { service, log } = parts

  app.get('/_sandbox', (c) => c.json(statusJson(parts)))
  app.get('/_sandbox/state', (c) => c.json(stateJson(parts, readParameters(c, stateQuery))))
  app.get('/_sandbox/requests', (c) =>
    c.json({ data: log.latest(readParameters(c, requestsQuery).limit).map(requestJson) }),
  )
  app.get('/_sandbox/assumptions', (c) => {
    const data = Object.entries(ASSUMPTIONS).map(([name, { says, choices }]) => ({
      name,
      says,
      choices,
      chosen: service.assumptions[name as AssumptionName],
    }))
    return c.json({ data })
  })
  app.post('/_sandbox/reset', async (c) => {
    await readBody(c, z.strictObject({}))
    parts.reset()
    log.clear()
    return c.body(null, 204)
  })
}

/** The deliveries that the state shows. */
export const stateQuery = z.strictObject({
  brief: z.literal('true').exactOptional(),
  limit: listQuery.shape.limit,
  status: listQuery.shape.status,
  q: listQuery.shape.q,
})

export type StateQuery = z.output<typeof stateQuery>

/** The data of the page. `brief` omits the bodies, headers and answers of deliveries, and adds their total number. */
export function stateJson(parts: ControlParts, { brief, limit, status, q }: StateQuery): object {
  const { service, log, realNow } = parts
  const { engine } = service
  const filter = { ...(status && { status }), ...(q && { text: q }) }
  const found = engine.deliveries({ ...filter, limit })
  return {
    status: statusJson(parts),
    clock: clockJson(service, realNow),
    endpoints: engine.endpoints().map(endpointJson),
    deliveries: found.map((delivery) => (brief ? briefJson : deliveryJson)(delivery, engine)),
    requests: log.latest(SHOWN).map(requestJson),
    events: latestEvents(service.accounts.test),
    faults: service.faults.list().map(faultJson),
    ...(brief && {
      matching: engine.tally(filter).matching,
      next_attempt: nextAttemptJson(service),
    }),
  }
}

function nextAttemptJson({ engine }: Service): object | null {
  const next = engine.nextAttempt()
  return next === undefined ? null : { delivery: next.delivery.id, at: utcText(next.atMs) }
}

function statusJson({ service, url, version, folder, realNow }: ControlParts): StatusView {
  const { accounts, engine, assumptions } = service
  return {
    name: 'tix-webhooks sandbox',
    version,
    url: url(),
    folder,
    clock: clockJson(service, realNow),
    counts: { test: accounts.test.counts(), live: accounts.live.counts() },
    deliveries: engine.totals(),
    parked: engine.parked(),
    endpoints: engine.endpoints().length,
    assumptions,
  }
}

function latestEvents(account: Account): object[] {
  return account.listEvents({ limit: String(SHOWN) }).data.map(({ id }) => ({
    ...account.retrieveWithTickets(id),
    on_sale_at: account.onSaleAt(id),
  }))
}
