import * as z from 'zod'
import type { Endpoint } from '../../engine/endpoint.js'
import { SUBSCRIPTIONS } from '../../service/subscriptions.js'
import type { App } from '../context.js'
import { missing, readBody, refusingMisuse } from './input.js'
import type { ControlParts } from './parts.js'
import type { EndpointView } from './views.js'

// The engine says what is wrong with a URL or a secret: it does not repeat the secret.
const secret = z.string()
const url = z.string().max(2048)
const events = z.array(z.enum(SUBSCRIPTIONS)).min(1)
const mode = z.enum(['test', 'live'])

const createBody = z.strictObject({
  url,
  events: events.exactOptional(),
  secret: secret.exactOptional(),
  enabled: z.boolean().exactOptional(),
  mode: mode.exactOptional(),
})
const patchBody = createBody.omit({ mode: true }).extend({ url: url.exactOptional() })
const rotateBody = z.strictObject({ secret: secret.exactOptional(), keep_old: z.boolean().exactOptional() })

/** Adds `/endpoints`. */
export function addEndpoints(app: App, { service: { engine }, checkUrl }: ControlParts): void {
  const endpointOrMissing = (id: string, endpoint: Endpoint | undefined): object => {
    if (endpoint === undefined) throw missing('endpoint', id)
    return endpointJson(endpoint)
  }

  app.get('/_sandbox/endpoints', (c) => c.json({ data: engine.endpoints().map(endpointJson) }))

  app.post('/_sandbox/endpoints', async (c) => {
    const input = await readBody(c, createBody)
    await refusingMisuse(() => checkUrl(input.url), 'url')
    return c.json(endpointJson(await refusingMisuse(() => engine.createEndpoint(input))), 201)
  })

  app.get('/_sandbox/endpoints/:id', (c) => {
    const id = c.req.param('id')
    return c.json(endpointOrMissing(id, engine.endpoint(id)))
  })

  app.patch('/_sandbox/endpoints/:id', async (c) => {
    const id = c.req.param('id')
    const patch = await readBody(c, patchBody)
    const { url } = patch
    if (url !== undefined) await refusingMisuse(() => checkUrl(url), 'url')
    const updated = await refusingMisuse(() => engine.updateEndpoint(id, patch))
    return c.json(endpointOrMissing(id, updated))
  })

  app.delete('/_sandbox/endpoints/:id', (c) => {
    const id = c.req.param('id')
    if (!engine.removeEndpoint(id)) throw missing('endpoint', id)
    return c.body(null, 204)
  })

  app.post('/_sandbox/endpoints/:id/rotate', async (c) => {
    const id = c.req.param('id')
    const { keep_old: keepOld, ...rotation } = await readBody(c, rotateBody)
    const change = { ...rotation, ...(keepOld !== undefined && { keepOld }) }
    const rotated = await refusingMisuse(() => engine.rotateSecret(id, change))
    return c.json(endpointOrMissing(id, rotated))
  })
}

/** An endpoint, as the control API shows it. */
export function endpointJson({ id, url, events, secrets, enabled, mode }: Endpoint): EndpointView {
  return { id, url, events, secrets, enabled, mode }
}
