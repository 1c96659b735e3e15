import { useState } from 'preact/hooks'
import { post } from '../data/api.js'
import type { EventView } from '../data/views.js'
import { count, price } from '../data/words.js'
import { Action } from '../parts/action.js'
import { Badge } from '../parts/badge.js'
import { Id } from '../parts/copy.js'
import { Moment } from '../parts/moment.js'
import { notify } from '../parts/notice.js'
import { Shown } from '../parts/shown.js'

/** The events of the test account, and what can be done with them. */
export function Events({ events }: { readonly events: readonly EventView[] }) {
  return (
    <>
      <h2>Events</h2>
      {events.length === 0 && (
        <p class="nothing">There is no event yet: trigger a kind, or create one with POST /v2/events.</p>
      )}
      <ul class="cards" aria-label="Events">
        {events.map((event) => (
          <Event key={event.id} event={event} />
        ))}
      </ul>
    </>
  )
}

function Event({ event }: { readonly event: EventView }) {
  const { id, title, status, url, doors_at, ends_at, sold, capacity, gross_cents, tickets } = event
  const isOpen = status === 'draft' || status === 'on_sale' || status === 'sold_out'
  const act = (what: string, body?: object) => () => post(`/events/${id}/${what}`, body)
  return (
    <li class="card">
      <div class="head">
        <h3>
          <Shown text={title} />
        </h3>
        <Badge status={status} />
      </div>
      <p class="facts">
        <Id id={id} />
        <span>
          doors <Moment at={new Date(doors_at).toISOString()} />, until{' '}
          <Moment at={new Date(ends_at).toISOString()} />
        </span>
        <span>
          {sold} of {count(capacity, 'ticket')} sold, {price(gross_cents)} taken
        </span>
        {status !== 'draft' && <a href={url}>public page</a>}
      </p>
      <ul class="tiers" aria-label="Tiers">
        {tickets.map((tier) => (
          <li key={tier.id}>
            <span>
              <Shown text={tier.name} />, {price(tier.price_cents)}, {tier.quantity} in total
            </span>
            <Id id={tier.id} />
            {status === 'on_sale' && (
              <Action
                look="small"
                run={async () => {
                  const { order } = await post<{ order: { id: string } }>('/orders', {
                    event_id: id,
                    ticket_tier_id: tier.id,
                    quantity: 1,
                  })
                  notify(`Sold: order ${order.id}.`)
                }}
              >
                Sell 1<span class="unseen"> of {tier.name}</span>
              </Action>
            )}
          </li>
        ))}
      </ul>
      {isOpen && (
        <div class="actions">
          {status === 'draft' && (
            <Action look="main" run={act('publish')}>
              Publish<span class="unseen"> {title}</span>
            </Action>
          )}
          <Reschedule event={event} />
          <Action look="danger" run={act('cancel')}>
            Cancel<span class="unseen"> {title}</span>
          </Action>
        </div>
      )}
    </li>
  )
}

/** The button to reschedule, which opens a form: a week later by default. */
function Reschedule({ event: { id, title, doors_at } }: { readonly event: EventView }) {
  const [doors, setDoors] = useState<string>()
  const week = new Date(Date.parse(doors_at) + 7 * 24 * 3_600_000).toISOString().slice(0, 16)
  const toggle = (
    <button
      type="button"
      aria-expanded={doors !== undefined}
      onClick={() => setDoors(doors === undefined ? week : undefined)}
    >
      Reschedule…<span class="unseen"> {title}</span>
    </button>
  )
  if (doors === undefined) return toggle
  return (
    <span class="field">
      {toggle}
      <label>
        New doors, UTC
        <input type="datetime-local" value={doors} onInput={(event) => setDoors(event.currentTarget.value)} />
      </label>
      <Action
        run={async () => {
          await post(`/events/${id}/reschedule`, { doors_at: `${doors}:00Z` })
          setDoors(undefined)
        }}
      >
        Reschedule<span class="unseen"> {title}</span>
      </Action>
    </span>
  )
}
