import { checkJsonType } from '../body.js'
import type { App } from '../context.js'
import { addClock } from './clock.js'
import { addDeliveries } from './deliveries.js'
import { addEndpoints } from './endpoints.js'
import { addFaults } from './faults.js'
import { addObjects } from './objects.js'
import type { ControlParts } from './parts.js'
import { addState } from './state.js'
import { addStream } from './stream.js'
import { addTrigger } from './trigger.js'

/** Adds the control of the sandbox, `/_sandbox/…`: what the command line and the page use. */
export function addControl(app: App, parts: ControlParts): void {
  app.use('/_sandbox/*', (c, next) => {
    if (c.req.method !== 'GET' && c.req.method !== 'HEAD') {
      parts.guard.checkOrigin(c.req.raw)
      // A form on a foreign page cannot send this content type, nor the method DELETE, which has no body.
      if (c.req.method !== 'DELETE') checkJsonType(c.req.header('content-type') ?? '')
    }
    return next()
  })
  addState(app, parts)
  addStream(app, parts)
  addClock(app, parts)
  addEndpoints(app, parts)
  addDeliveries(app, parts)
  addTrigger(app, parts)
  addObjects(app, parts)
  addFaults(app, parts)
}
