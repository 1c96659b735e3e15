import type { Account } from '../../domain/account.js'
import { Refusal } from '../../domain/refusal.js'
import type { CreatedEvent } from '../../domain/resources.js'
import type { Service } from '../../service/service.js'
import { readBytes } from '../body.js'
import type { App } from '../context.js'
import { HttpError, statusOf } from '../errors.js'
import type { Guard } from '../protection/guard.js'
import { eventPage, messagePage, PAGE_HEADERS, ticketPage } from './checkout-page.js'

/** Adds the public pages: of an event, which sells its tickets without an API key, and of a ticket. */
export function addCheckout(app: App, service: Service, guard: Guard): void {
  app.use('/e/*', async (c, next) => {
    if (c.req.method === 'POST') guard.checkOrigin(c.req.raw)
    await next()
  })

  app.get('/e/:slug', (c) => {
    const found = findPublic(service, c.req.param('slug'))
    if (found === undefined) return c.html(NO_EVENT, 404, PAGE_HEADERS)
    return c.html(eventPage(found.event, venueOf(found)), 200, PAGE_HEADERS)
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
      return c.html(eventPage(now, venueOf(found), { sale }), 200, PAGE_HEADERS)
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      return c.html(
        eventPage(event, venueOf(found), { refusal: error.message }),
        statusOf(error.code, error.param),
        PAGE_HEADERS,
      )
    }
  })

  app.get('/wallet/:ticket', (c) => {
    const id = c.req.param('ticket')
    for (const account of [service.accounts.test, service.accounts.live]) {
      const ticket = account.findTicket(id)
      if (ticket === undefined) continue
      const venue = account.findVenue(ticket.event.venue_id)
      return c.html(ticketPage(ticket, venue), 200, PAGE_HEADERS)
    }
    return c.html(NO_TICKET, 404, PAGE_HEADERS)
  })

  app.get('/embed.js', (c) => c.body(EMBED, 200, { 'content-type': 'text/javascript; charset=utf-8' }))
}

/** The checkout in a page of one's own: it takes the place of the script tag, whose `data-event` is the slug or the URL of an event. */
const EMBED = `(() => {
  const script = document.currentScript
  const page = new URL(script.dataset.event, new URL('/e/', script.src))
  if (page.origin !== new URL(script.src).origin) throw new Error('data-event must be an event of ' + script.src)
  const frame = document.createElement('iframe')
  frame.src = page.href
  frame.title = 'Checkout'
  frame.style.cssText = 'width:100%;height:40rem;border:0'
  script.after(frame)
})()
`

const NO_TICKET = messagePage(
  'No ticket',
  'There is no such ticket, or it is no longer kept: the sandbox keeps those of the latest 1,000 orders.',
)

const NO_EVENT = messagePage('No event', 'There is no event here, or it is not published yet.')

function venueOf({ account, event }: { account: Account; event: CreatedEvent }) {
  return account.findVenue(event.venue_id)
}

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
    throw new HttpError(
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
