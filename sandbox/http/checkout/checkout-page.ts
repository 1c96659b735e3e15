import { createHash } from 'node:crypto'
import { html, raw } from 'hono/html'
import type { FoundTicket } from '../../domain/orders/found-ticket.js'
import type { CreatedEvent, OrderResult, VenueObject } from '../../domain/resources.js'
import { markdownHtml } from '../../domain/text/markdown-html.js'

/** The result of an attempt to buy. */
export interface Purchase {
  readonly sale?: OrderResult
  /** The reason why nothing was sold, in words. */
  readonly refusal?: string
}

/** The venue of an event, if it has one. */
type Place = VenueObject | undefined

type Html = ReturnType<typeof html>

const STYLE =
  'body{font:1rem/1.5 system-ui,sans-serif;max-width:36rem;margin:2rem auto;padding:0 1rem}' +
  'img{max-width:100%;height:auto}.note{border-left:4px solid;padding-left:1rem}label{display:block;margin:.5rem 0}'

/** The headers of every page: it loads only pictures, runs no script, and sends its form only to its own origin. */
export const PAGE_HEADERS = {
  'content-security-policy': [
    "default-src 'none'",
    `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
    'img-src http: https:',
    "form-action 'self'",
    "base-uri 'none'",
  ].join('; '),
  // With `no-referrer`, a browser would send the form with the origin `null`.
  'referrer-policy': 'same-origin',
  'cache-control': 'no-store',
} as const

const STATUS_WORDS: Readonly<Record<CreatedEvent['status'], string>> = {
  draft: 'Not on sale yet.',
  on_sale: 'On sale.',
  sold_out: 'Sold out.',
  past: 'This event is over.',
  cancelled: 'This event is cancelled.',
}

/** The public page of an event. All that comes from outside is text. */
export function eventPage(event: CreatedEvent, venue: Place, { sale, refusal }: Purchase = {}): Html {
  const { title, status, doors_at, ends_at, description_md, image_url, sold, capacity } = event
  return page(
    title,
    html`
      ${sale && saleNote(sale)}
      ${refusal !== undefined && html`<p class="note" role="alert">Not sold: ${refusal}</p>`}
      ${image_url !== null && html`<img src="${image_url}" alt="">`}
      <p>${venue && placeOf(venue)}<br>Doors ${moment(doors_at, venue)}, until ${moment(ends_at, venue)}</p>
      ${description_md !== null && html`<div class="about">${raw(markdownHtml(description_md))}</div>`}
      <p><strong>${STATUS_WORDS[status]}</strong> ${sold} of ${capacity} sold.</p>
      ${status === 'on_sale' && buyForm(event)}
    `,
  )
}

/** The wallet pass of a ticket. */
export function ticketPage({ id, tier, scan_token, refunded, event }: FoundTicket, venue: Place): Html {
  return page(
    event.title,
    html`
      ${event.image_url !== null && html`<img src="${event.image_url}" alt="">`}
      <p>${venue && placeOf(venue)}<br>Doors ${moment(event.doors_at, venue)}</p>
      <p><strong>${tier}</strong>, ticket ${id}</p>
      <p>${refunded ? 'This ticket was refunded.' : html`To scan: <code>${scan_token}</code>`}</p>
    `,
  )
}

function placeOf({ name, address, city, country }: VenueObject): string {
  return [name, address, city, country].filter((part) => part !== null).join(', ')
}

/** A moment in the time zone of the venue, because visitors arrive by the clocks there. */
function moment(text: string, venue: Place): Html {
  const timeZone = venue?.timezone ?? 'UTC'
  const format = new Intl.DateTimeFormat('en-GB', { dateStyle: 'full', timeStyle: 'short', timeZone })
  return html`<time datetime="${text}">${format.format(new Date(text))} (${timeZone})</time>`
}

/** A page that says one thing. */
export function messagePage(title: string, message: string): Html {
  return page(title, html`<p>${message}</p>`)
}

function page(title: string, content: Html): Html {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${title}</title>
<style>${raw(STYLE)}</style>
</head>
<body>
<main>
<h1>${title}</h1>
${content}
</main>
<footer><p><small>A page of the tix-webhooks sandbox: nothing is charged, and nothing is emailed.</small></p></footer>
</body>
</html>
`
}

function buyForm({ tickets }: CreatedEvent): Html {
  return html`<form method="post">
<label>Ticket
<select name="tier" required>
${tickets.map(({ id, name, price_cents }) => html`<option value="${id}">${name}, ${price(price_cents)}</option>`)}
</select>
</label>
<label>How many <input name="quantity" type="number" min="1" value="1" required></label>
<button>Buy</button>
</form>`
}

function saleNote({ order, tickets }: OrderResult): Html {
  return html`<p class="note" role="status">Sold: order ${order.id}, ${price(order.total_cents)} in all.
Tickets: ${tickets.map(({ id }) => id).join(', ')}.</p>`
}

/** The specification names no currency. */
function price(cents: number): string {
  return cents === 0 ? 'free' : (cents / 100).toFixed(2)
}
