import * as z from 'zod'
import { utcText } from '../../domain/events/moments.js'
import { limiter } from '../../engine/limiter.js'
import { DeliveryGone } from '../../engine/record/delivery-gone.js'
import type { Attempt, Delivery } from '../../engine/record/records.js'
import { DELIVERY_STATUSES, isScenario } from '../../engine/record/records.js'
import type { App } from '../context.js'
import { HttpError } from '../errors.js'
import { invalid, missing, readBody, readParameters, refusingMisuse, span } from './input.js'
import { curlJson } from './json/curl.js'
import { attemptJson, deliveryJson } from './json/delivery-json.js'
import type { ControlParts } from './parts.js'
import { whyJson } from './why.js'

/** The limit of concurrent resends: that of the engine. */
const AT_A_TIME = 32

export const listQuery = z.strictObject({
  status: z.enum([...DELIVERY_STATUSES, 'scenario']).exactOptional(),
  type: z.string().min(1).exactOptional(),
  endpoint: z.string().min(1).exactOptional(),
  q: z.string().min(1).max(200).exactOptional(),
  limit: z.int().min(1).max(1000).default(100),
})
const to = z.string().exactOptional()
const resendBody = z.strictObject({ to })
const resendManyBody = z.strictObject({
  failed: z.literal(true).exactOptional(),
  since: span.exactOptional(),
  to,
})

/** Adds `/deliveries`, and `/resend`. */
export function addDeliveries(app: App, { service, checkUrl }: ControlParts): void {
  const { engine, clock } = service
  const found = (id: string): Delivery => {
    const delivery = engine.delivery(id)
    if (delivery === undefined) throw missing('delivery', id)
    return delivery
  }

  const attemptOf = ({ attempts }: Delivery, id: string): Attempt => {
    const attempt = attempts.find((one) => one.id === id)
    if (attempt === undefined) throw missing('attempt', id)
    return attempt
  }

  /** The secret to sign with is gone with its endpoint. */
  const canResend = ({ endpointId }: Delivery): boolean => engine.endpoint(endpointId) !== undefined
  /** Deliveries of a scenario are resent by their id only: that sends the event as it should have been. */
  const reasonToLeaveOut = (delivery: Delivery, to: string | undefined) => {
    if (isScenario(delivery)) return 'spoilt'
    if (!canResend(delivery)) return 'removed'
    return to !== undefined || engine.endpoint(delivery.endpointId)?.enabled ? undefined : 'disabled'
  }
  const checkTarget = async (to: string | undefined): Promise<void> => {
    if (to !== undefined) await refusingMisuse(() => checkUrl(to), 'to')
  }
  /** Undefined if the delivery or its endpoint is removed while it waits for its turn. */
  const resend = async (id: string, options: { to?: string }): Promise<object | undefined> => {
    try {
      return attemptJson(await refusingMisuse(() => engine.resend(id, options), 'to'))
    } catch (error) {
      if (error instanceof DeliveryGone) return undefined
      throw error
    }
  }
  const removed = (): HttpError =>
    new HttpError(
      'endpoint_removed',
      'Its endpoint was removed, and its secret with it. Trigger the kind again.',
    )

  app.get('/_sandbox/deliveries', (c) => {
    const { endpoint, q, ...query } = readParameters(c, listQuery)
    const filter = { ...query, ...(endpoint && { endpointId: endpoint }), ...(q && { text: q }) }
    const data = engine.deliveries(filter).map((delivery) => deliveryJson(delivery, engine))
    return c.json({ data, ...engine.tally(filter) })
  })

  app.get('/_sandbox/deliveries/:id', (c) => c.json(deliveryJson(found(c.req.param('id')), engine)))

  app.get('/_sandbox/deliveries/:id/plan', (c) => {
    const { id } = found(c.req.param('id'))
    return c.json({ data: engine.plannedAttempts(id).map(utcText) })
  })

  app.get('/_sandbox/deliveries/:id/curl', async (c) => {
    const delivery = found(c.req.param('id'))
    if (!canResend(delivery)) throw removed()
    return c.json(await curlJson(service, delivery, undefined))
  })

  app.get('/_sandbox/deliveries/:id/attempts/:attempt/curl', async (c) => {
    const delivery = found(c.req.param('id'))
    return c.json(await curlJson(service, delivery, attemptOf(delivery, c.req.param('attempt'))))
  })

  app.get('/_sandbox/deliveries/:id/attempts/:attempt/why', async (c) => {
    const delivery = found(c.req.param('id'))
    return c.json(await whyJson(service, delivery, attemptOf(delivery, c.req.param('attempt'))))
  })

  app.post('/_sandbox/deliveries/:id/resend', async (c) => {
    const body = await readBody(c, resendBody)
    await checkTarget(body.to)
    const delivery = found(c.req.param('id'))
    if (!canResend(delivery)) throw removed()
    const attempt = await resend(delivery.id, body)
    if (attempt !== undefined) return c.json(attempt)
    found(delivery.id)
    throw removed()
  })

  app.post('/_sandbox/resend', async (c) => {
    const { failed, since, ...options } = await readBody(c, resendManyBody)
    if (failed === undefined && since === undefined) {
      throw invalid('Choose deliveries: {"failed":true}, or {"since":"1h"}, or both.')
    }
    await checkTarget(options.to)
    const fromMs = since === undefined ? Number.NEGATIVE_INFINITY : clock.now() - since
    const asked = engine
      .deliveries({ limit: Number.POSITIVE_INFINITY })
      // A delivery that was skipped because its endpoint was disabled is sent once that is enabled again.
      .filter(({ status }) => !failed || status === 'failed' || status === 'skipped')
      .filter(({ message }) => Date.parse(message.createdAt) >= fromMs)
    const leftOut = { removed: 0, disabled: 0, spoilt: 0 }
    const chosen = asked.filter((delivery) => {
      const reason = reasonToLeaveOut(delivery, options.to)
      if (reason !== undefined) leftOut[reason] += 1
      return reason === undefined
    })
    chosen.reverse()
    const limit = limiter(AT_A_TIME)
    const resent = await Promise.all(
      chosen.map(async ({ id }) => ({ delivery: id, attempt: await limit(() => resend(id, options)) })),
    )
    return c.json({ data: resent.filter(({ attempt }) => attempt !== undefined), left_out: leftOut })
  })
}
