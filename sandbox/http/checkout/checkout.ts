import type { Account } from '../../domain/account.js'
import { Fault } from '../../domain/fault.js'
import type { CreatedEvent } from '../../domain/resources.js'
import type { Service } from '../../service/service.js'
import { readBytes } from '../body.js'
import type { App } from '../context.js'
import { HttpFault, statusOf } from '../faults.js'
import type { Guard } from '../protection/guard.js'
import { eventPage, messagePage, PAGE_HEADERS } from './checkout-page.js'

/** Adds the public pages: of an event, where it is sold without an API key, and of a ticket. */
export function addCheckout(app: App, service: Service, guard: Guard): void {
  app.use('/e/*', async (c, next) => {
    if (c.req.method === 'POST') guard.checkOrigin(c.req.raw)
    await next()
  })

  app.get('/e/:slug', (c) => {
    const found = findPublic(service, c.req.param('slug'))
    if (found === undefined) return c.html(NO_EVENT, 404, PAGE_HEADERS)
    return c.html(eventPage(found.event), 200, PAGE_HEADERS)
  })

  app.post('/e/:slug', async (c) => {
    const form = await readForm(c.req.raw)
    const found = findPublic(service, c.req.param('slug'))
    if (found === undefined) return c.html(NO_EVENT, 404, PAGE_HEADERS)
    const { account, event } = found
    try {
      const sale = account.createOrder({
        event_id: event.id,
        ticket_tier_id: form.get('tier') ?? undefined,
        quantity: quantityOf(form),
      })
      const now = findPublic(service, event.slug)?.event ?? event
      return c.html(eventPage(now, { sale }), 200, PAGE_HEADERS)
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      return c.html(
        eventPage(event, { refusal: error.message }),
        statusOf(error.code, error.param),
        PAGE_HEADERS,
      )
    }
  })

  app.get('/wallet/*', (c) =>
    c.html(
      messagePage('Wallet pass', 'The wallet pass of the ticket would be here. The sandbox makes none.'),
      200,
      PAGE_HEADERS,
    ),
  )
}

const NO_EVENT = messagePage('No event', 'There is no event here, or it is not published yet.')

/** Finds an event that buyers can see: not a draft. */
function findPublic(
  { accounts }: Service,
  slug: string,
): { account: Account; event: CreatedEvent } | undefined {
  for (const account of [accounts.test, accounts.live]) {
    const event = account.findBySlug(slug)
    if (event !== undefined && event.status !== 'draft') return { account, event }
  }
  return undefined
}

async function readForm(request: Request): Promise<URLSearchParams> {
  const type = request.headers.get('content-type') ?? ''
  if (!/^application\/x-www-form-urlencoded\s*(;|$)/i.test(type)) {
    throw new HttpFault(
      'unsupported_media_type',
      'A ticket is bought with the form of the page of the event.',
    )
  }
  return new URLSearchParams(new TextDecoder().decode(await readBytes(request)))
}

/** Anything but a number stays a string, which the account refuses with a message. */
function quantityOf(form: URLSearchParams): unknown {
  const quantity = form.get('quantity') ?? undefined
  return quantity !== undefined && /^\d{1,9}$/.test(quantity) ? Number(quantity) : quantity
}
