import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { go, hashOf, LIMIT, MAX_LIMIT, type Route } from '../data/route.js'
import type { State } from '../data/views.js'
import { count } from '../data/words.js'
import { Delivery } from '../delivery/delivery.js'
import { Empty } from './empty.js'
import { useKeys } from './keys.js'
import { Row } from './row.js'
import { countOf, Toolbar } from './toolbar.js'

interface DeliveriesProps {
  readonly route: Route
  readonly state: State
}

/** The list of deliveries, and beside it the one that is chosen. */
export function Deliveries({ route, state }: DeliveriesProps) {
  const { deliveries, matching, endpoints } = state
  const chosen = route.follow ? deliveries[0]?.id : route.delivery
  const list = useRef<HTMLElement>(null)
  const [asked, setDrawn] = useState(LIMIT)
  const drawn = Math.max(asked, 1 + deliveries.findIndex(({ id }) => id === chosen))
  useKeys(list, route, chosen)
  useFocusOnReturn(list, route)
  const forgotten = route.q === '' ? countOf(route.status, state.status.deliveries) - matching : 0
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
        <div role="tabpanel" id="rows" aria-label="Deliveries by status" hidden={deliveries.length === 0}>
          <table aria-label="Deliveries">
            <thead>
              <tr>
                <th scope="col">Delivery</th>
                <th scope="col" class="status">
                  Status
                </th>
                <th scope="col" class="last">
                  Answer
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
              {deliveries.slice(0, drawn).map((delivery) => (
                <Row
                  key={delivery.id}
                  delivery={delivery}
                  href={hashOf({ ...route, delivery: delivery.id, attempt: undefined, follow: false })}
                  isChosen={delivery.id === chosen}
                />
              ))}
            </tbody>
          </table>
          {drawn < deliveries.length && <End key={drawn} reach={() => setDrawn(drawn + LIMIT)} />}
        </div>
        {deliveries.length > 0 && (
          <p class="keys">
            <kbd>j</kbd> <kbd>k</kbd> move, <kbd>Enter</kbd> opens, <kbd>Esc</kbd> closes, <kbd>r</kbd>{' '}
            resends
          </p>
        )}
        {matching > deliveries.length && <More route={route} shown={deliveries.length} matching={matching} />}
        {forgotten > 0 && (
          <p class="more">
            {count(forgotten, 'older one is', 'older ones are')} counted, and no longer kept.
          </p>
        )}
      </section>
      {chosen !== undefined && (
        <Delivery key={chosen} id={chosen} brief={brief} route={route} state={state} />
      )}
    </div>
  )
}

/** The end of the rows that are drawn: a browser takes a second for a thousand of them. */
function End({ reach }: { readonly reach: () => void }) {
  const end = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const observer = new IntersectionObserver(
      (entries) => entries.some(({ isIntersecting }) => isIntersecting) && reach(),
      { rootMargin: '800px' },
    )
    if (end.current !== null) observer.observe(end.current)
    return () => observer.disconnect()
  }, [])
  return <div ref={end} class="end" />
}

function More({ route, shown, matching }: { route: Route; shown: number; matching: number }) {
  const next = [5 * LIMIT, MAX_LIMIT].find((limit) => limit > route.limit)
  return (
    <p class="more">
      The latest {shown.toLocaleString('en')} of {count(matching, 'delivery', 'deliveries')}.{' '}
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
