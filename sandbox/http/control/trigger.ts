import { SCENARIOS } from 'tix-webhooks/testing'
import * as z from 'zod'
import { fill } from '../../service/fill.js'
import { CLOSED } from '../../service/service.js'
import { firstAnswers } from '../../service/trigger/first-answers.js'
import { trigger } from '../../service/trigger/trigger.js'
import { readJson } from '../body.js'
import type { App } from '../context.js'
import { HttpError } from '../errors.js'
import { readBody } from './input.js'
import { attemptJson } from './json/delivery-json.js'
import type { ControlParts } from './parts.js'

const anything = z.record(z.string(), z.unknown())

const triggerBody = z.strictObject({
  kind: z.string().min(1).max(200).exactOptional(),
  event: z.string().min(1).exactOptional(),
  set: anything.exactOptional(),
  data: anything.exactOptional(),
  chain: z.boolean().exactOptional(),
  scenario: z.string().min(1).exactOptional(),
  repeat: z.int().exactOptional(),
  mode: z.enum(['test', 'live']).exactOptional(),
  wait: z.boolean().default(false),
})

/** Adds `/trigger`, `/scenarios` and `/fill`. */
export function addTrigger(app: App, { service }: ControlParts): void {
  app.post('/_sandbox/trigger', async (c) => {
    const { wait, ...request } = await readBody(c, triggerBody)
    if (service.closing.aborted) throw new HttpError('sandbox_closed', CLOSED)
    const triggered = await trigger(service, request)
    const answered = wait ? await firstAnswers(service, triggered, c.req.raw.signal) : triggered
    const { messages, deliveries, attempts } = answered
    return c.json({ messages, deliveries, attempts: attempts.map(attemptJson) }, 201)
  })

  app.get('/_sandbox/scenarios', (c) =>
    c.json({ data: SCENARIOS.map(({ name, description, expect }) => ({ name, description, expect })) }),
  )

  app.post('/_sandbox/fill', async (c) => {
    const fixtures = await readJson(c.req.raw, { required: true })
    return c.json(fill(service, fixtures), 201)
  })
}
