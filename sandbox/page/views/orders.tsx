import { get } from '../data/api.js'
import type { OrderView, State } from '../data/views.js'
import { count, price } from '../data/words.js'
import { Id } from '../parts/copy.js'
import { Shown } from '../parts/shown.js'
import { Table } from '../parts/table.js'
import { useLoaded } from '../parts/use-loaded.js'

/** The latest orders of the test account, with their tickets. */
export function Orders({ state }: { readonly state: State }) {
  const { orders } = state.status.counts.test
  // Each sale changes their count, and each cancellation an event.
  const version = `${orders} ${state.events.map(({ status }) => status).join()}`
  const list = useLoaded(() => get<{ data: readonly OrderView[] }>('/orders'), [version])?.data
  return (
    <>
      <h2>Orders</h2>
      {list?.length === 0 && <p class="nothing">There is no order yet: trigger order.created.</p>}
      {list !== undefined && list.length < orders && (
        <p class="dim">
          The latest {list.length} of {count(orders, 'order')}.
        </p>
      )}
      {list !== undefined && list.length > 0 && (
        <Table label="Orders" heads={['Order', 'State', 'Total|number', 'Buyer', 'Tickets']}>
          {list.map((order) => (
            <Order key={order.id} order={order} />
          ))}
        </Table>
      )}
    </>
  )
}

function Order({ order }: { readonly order: OrderView }) {
  const { id, refunded, total_cents, buyer_email, tickets, quantity, tier } = order
  return (
    <tr>
      <th scope="row">
        <Id id={id} />
      </th>
      <td>
        <span class={`badge ${refunded ? 'warm' : 'good'}`}>{refunded ? 'refunded' : 'paid'}</span>
      </td>
      <td class="number">{price(total_cents)}</td>
      <td>{buyer_email}</td>
      <td>
        {quantity} × <Shown text={tier} />
        {tickets.length === 0 ? (
          <span class="dim"> (no longer kept)</span>
        ) : (
          <details>
            <summary>
              Scan tokens and wallet links<span class="unseen"> of {id}</span>
            </summary>
            <ul class="tickets">
              {tickets.map((ticket) => (
                <li key={ticket.id}>
                  <code>{ticket.id}</code> <Id id={ticket.scan_token} />{' '}
                  <a href={ticket.wallet_pass_url}>
                    wallet<span class="unseen"> of {ticket.id}</span>
                  </a>
                </li>
              ))}
            </ul>
          </details>
        )}
      </td>
    </tr>
  )
}
