import * as z from 'zod'
import type { Account } from '../../domain/account.js'
import { ASSUMPTIONS, type AssumptionName } from '../../service/assumptions.js'
import type { App } from '../context.js'
import { KEPT_REQUESTS } from '../request-log.js'
import { clockJson } from './clock.js'
import { deliveryJson } from './delivery-json.js'
import { endpointJson } from './endpoints.js'
import { readBody, readParameters } from './input.js'
import type { ControlParts } from './parts.js'

/** How many of each the state shows: the latest. */
const SHOWN = 100

const requestsQuery = z.strictObject({ limit: z.int().min(1).max(KEPT_REQUESTS).default(100) })

/** Adds the routes about the sandbox as a whole, and its reset. */
export function addState(app: App, parts: ControlParts): void {
  const { service, log } = parts

  app.get('/_sandbox', (c) => c.json(statusJson(parts)))
  app.get('/_sandbox/state', (c) => c.json(stateJson(parts)))
  app.get('/_sandbox/requests', (c) => c.json({ data: log.latest(readParameters(c, requestsQuery).limit) }))
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

/** All that a page shows. */
export function stateJson(parts: ControlParts): object {
  const { service, log, realNow } = parts
  return {
    status: statusJson(parts),
    clock: clockJson(service, realNow),
    endpoints: service.engine.endpoints().map(endpointJson),
    deliveries: service.engine
      .deliveries({ limit: SHOWN })
      .map((delivery) => deliveryJson(delivery, service.engine)),
    requests: log.latest(SHOWN),
    events: latestEvents(service.accounts.test),
  }
}

function statusJson({ service, url, version, realNow }: ControlParts): object {
  const { accounts, engine, assumptions } = service
  return {
    name: 'tix-webhooks sandbox',
    version,
    url: url(),
    clock: clockJson(service, realNow),
    counts: { test: accounts.test.counts(), live: accounts.live.counts() },
    deliveries: engine.totals(),
    endpoints: engine.endpoints().length,
    assumptions,
  }
}

function latestEvents(account: Account): object[] {
  return account.listEvents({ limit: String(SHOWN) }).data.map(({ id }) => account.retrieveWithTickets(id))
}
