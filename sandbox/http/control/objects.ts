import * as z from 'zod'
import type { App } from '../context.js'
import { HttpError } from '../errors.js'
import { readBody, readParameters } from './input.js'
import type { ControlParts } from './parts.js'

const ordersQuery = z.strictObject({
  event: z.string().min(1).exactOptional(),
  refunded: z.enum(['true', 'false']).exactOptional(),
  limit: z.int().min(1).max(1000).default(100),
  mode: z.enum(['test', 'live']).default('test'),
})
/** The account says what is wrong with what is given. */
const anything = z.looseObject({})

/**
 * Adds `/orders` and the actions on events of the test account. The rules are those of the API, but no key is needed, and the requests are not listed among
 * the requests that the user's code made.
 */
export function addObjects(app: App, { service }: ControlParts): void {
  const account = service.accounts.test

  app.get('/_sandbox/orders', (c) => {
    const { refunded, mode, ...query } = readParameters(c, ordersQuery)
    const filter = { ...query, ...(refunded !== undefined && { refunded: refunded === 'true' }) }
    return c.json(service.accounts[mode].latestOrders(filter))
  })
  app.post('/_sandbox/orders', async (c) => c.json(account.createOrder(await readBody(c, anything)), 201))

  const act = {
    publish: account.publishEvent.bind(account),
    cancel: account.cancelEvent.bind(account),
    reschedule: account.rescheduleEvent.bind(account),
  }
  for (const [name, run] of Object.entries(act)) {
    app.post(`/_sandbox/events/:id/${name}`, async (c) => {
      const id = c.req.param('id')
      if (id === undefined) throw new HttpError('unknown_url', 'The id of the event is missing.')
      return c.json(run(id, await readBody(c, anything)))
    })
  }
}
