import * as z from 'zod'
import type { ApiFault } from '../../service/api-faults.js'
import type { App } from '../context.js'
import { missing, readBody, refusingMisuse } from './input.js'
import type { ControlParts } from './parts.js'
import type { FaultView } from './views.js'

// The service says what is wrong with a value.
const faultBody = z.strictObject({
  path: z.string(),
  method: z.string().exactOptional(),
  status: z.number().exactOptional(),
  delay_ms: z.number().exactOptional(),
  drop: z.boolean().exactOptional(),
  times: z.number().exactOptional(),
})

/** Adds `/faults`: errors, delays and dropped connections of the API, and never of the control. */
export function addFaults(app: App, { service: { faults } }: ControlParts): void {
  app.get('/_sandbox/faults', (c) => c.json({ data: faults.list().map(faultJson) }))

  app.post('/_sandbox/faults', async (c) => {
    const { delay_ms: delayMs, ...rest } = await readBody(c, faultBody)
    const fault = { ...rest, ...(delayMs !== undefined && { delayMs }) }
    return c.json(faultJson(await refusingMisuse(() => faults.add(fault))), 201)
  })

  app.delete('/_sandbox/faults', (c) => {
    faults.clear()
    return c.body(null, 204)
  })

  app.delete('/_sandbox/faults/:id', (c) => {
    const id = c.req.param('id')
    if (!faults.remove(id)) throw missing('fault', id)
    return c.body(null, 204)
  })
}

/** A fault, as the control API shows it: `times` is how often it still hits. */
export function faultJson({ delayMs, ...fault }: ApiFault): FaultView {
  return { ...fault, ...(delayMs !== undefined && { delay_ms: delayMs }) }
}
