import { useLayoutEffect, useRef } from 'preact/hooks'
import { go, hashOf, LIMIT, MAX_LIMIT, type Route } from '../data/route.js'
import type { State } from '../data/views.js'
import { count } from '../data/words.js'
import { Delivery } from '../delivery/delivery.js'
import { Empty } from './empty.js'
import { useKeys } from './keys.js'
import { Row } from './row.js'
import { Toolbar } from './toolbar.js'

interface DeliveriesProps {
  readonly route: Route
  readonly state: State
}

/** The list of deliveries, and beside it the one that is chosen. */
export function Deliveries({ route, state }: DeliveriesProps) {
  const { deliveries, matching, endpoints } = state
  const chosen = route.follow ? deliveries[0]?.id : route.delivery
  const list = useRef<HTMLElement>(null)
  useKeys(list, route, chosen)
  useFocusOnReturn(list, route)
  const isFiltered = route.q !== '' || route.status !== ''
  const brief = deliveries.find(({ id }) => id === chosen)
  return (
    <div class={chosen === undefined ? 'deliveries' : 'deliveries with-one'}>
      <section class="list" ref={list} aria-label="List">
        <h2>Deliveries</h2>
        <Toolbar route={route} counts={state.status.deliveries} />
        {deliveries.length === 0 && !isFiltered && <Empty endpoints={endpoints} />}
        {deliveries.length === 0 && isFiltered && (
          <p class="nothing">
            No delivery matches. <a href={hashOf({ ...route, q: '', status: '' })}>Show all</a>
          </p>
        )}
        <table aria-label="Deliveries" hidden={deliveries.length === 0}>
          <thead>
            <tr>
              <th scope="col">Kind</th>
              <th scope="col" class="status">
                Status
              </th>
              <th scope="col" class="last">
                <span class="wide">Last answer</span>
                <span class="narrow">Last</span>
              </th>
              <th scope="col" class="number">
                Attempts
              </th>
              <th scope="col" class="endpoint">
                Endpoint
              </th>
              <th scope="col" class="age">
                Age
              </th>
            </tr>
          </thead>
          <tbody>
            {deliveries.map((delivery) => (
              <Row
                key={delivery.id}
                delivery={delivery}
                href={hashOf({ ...route, delivery: delivery.id, attempt: undefined, follow: false })}
                isChosen={delivery.id === chosen}
              />
            ))}
          </tbody>
        </table>
        {deliveries.length > 0 && (
          <p class="keys">
            <kbd>j</kbd> <kbd>k</kbd> move, <kbd>Enter</kbd> opens, <kbd>Esc</kbd> closes, <kbd>r</kbd>{' '}
            resends
          </p>
        )}
        {matching > deliveries.length && <More route={route} shown={deliveries.length} matching={matching} />}
      </section>
      {chosen !== undefined && (
        <Delivery key={chosen} id={chosen} brief={brief} route={route} state={state} />
      )}
    </div>
  )
}

function More({ route, shown, matching }: { route: Route; shown: number; matching: number }) {
  const next = [5 * LIMIT, MAX_LIMIT].find((limit) => limit > route.limit)
  return (
    <p class="more">
      The latest {shown} of {count(matching, 'delivery', 'deliveries')}.{' '}
      {next !== undefined && (
        <button type="button" class="small" onClick={() => go({ ...route, limit: next })}>
          Show {next}
        </button>
      )}
    </p>
  )
}

/** Returns the focus to the line of a delivery that is closed: before the next key can be pressed. */
function useFocusOnReturn(list: { current: HTMLElement | null }, { delivery }: Route): void {
  const before = useRef(delivery)
  useLayoutEffect(() => {
    const closed = before.current
    before.current = delivery
    if (closed === undefined || delivery !== undefined) return
    list.current?.querySelector<HTMLElement>(`a[data-id="${CSS.escape(closed)}"]`)?.focus()
  }, [delivery])
}
