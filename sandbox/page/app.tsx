import { useEffect, useState } from 'preact/hooks'
import { Clock, endPassage } from './bar/clock.js'
import { Trigger } from './bar/trigger.js'
import { post } from './data/api.js'
import { type Connection, follow } from './data/live.js'
import { go, type Route, useRoute, VIEWS } from './data/route.js'
import type { Brief, State } from './data/views.js'
import { setClock } from './data/virtual-time.js'
import { Deliveries } from './deliveries/deliveries.js'
import { Action } from './parts/action.js'
import { Notices, notify } from './parts/notice.js'
import { Assumptions } from './views/assumptions.js'
import { Endpoints } from './views/endpoints.js'
import { Events } from './views/events.js'
import { Faults } from './views/faults.js'
import { Orders } from './views/orders.js'
import { Requests } from './views/requests.js'

export function App() {
  const route = useRoute()
  const { state, connection } = useLive(route)
  // For narrow windows, where the style hides what is folded.
  const [isOpen, setOpen] = useState(false)
  useEffect(() => {
    document.title = `${route.delivery ?? route.view} – tix-webhooks sandbox`
  }, [route.delivery, route.view])
  return (
    <>
      <header>
        <h1>
          <a href="#/deliveries">
            tix-webhooks <span>sandbox</span>
          </a>
        </h1>
        <nav aria-label="Views">
          {VIEWS.map((view) => (
            <a
              key={view}
              href={`#/${view.toLowerCase()}`}
              aria-current={view === route.view ? 'page' : undefined}
            >
              {view}
            </a>
          ))}
        </nav>
        <p class={`connection ${connection}`} role="status">
          {connection}
        </p>
        <Action
          look="danger"
          title="Forgets all but the endpoints"
          run={async () => {
            await post('/reset')
            endPassage()
            go({ ...route, delivery: undefined, attempt: undefined, q: '', status: '' })
            notify('All data and deliveries are forgotten.')
          }}
        >
          Reset
        </Action>
      </header>
      {state !== undefined && (
        <>
          <section class={isOpen ? 'bar open' : 'bar'} aria-label="Controls">
            <button type="button" class="fold" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
              Controls
            </button>
            <Clock clock={state.clock} nextAttempt={state.next_attempt} />
            <Trigger />
          </section>
          <main class={route.view === 'Deliveries' ? 'wide' : undefined}>
            <CurrentView route={route} state={state} />
          </main>
        </>
      )}
      {state === undefined && <main aria-busy="true" />}
      <Notices />
    </>
  )
}

function CurrentView({ route, state }: { readonly route: Route; readonly state: State }) {
  switch (route.view) {
    case 'Deliveries':
      return <Deliveries route={route} state={state} />
    case 'Events':
      return <Events events={state.events} />
    case 'Orders':
      return <Orders state={state} />
    case 'Endpoints':
      return <Endpoints endpoints={state.endpoints} />
    case 'Requests':
      return <Requests requests={state.requests} />
    case 'Faults':
      return <Faults faults={state.faults} />
    case 'Assumptions':
      return <Assumptions />
  }
}

/** The live state, filtered by the URL. */
function useLive({ q, status, limit }: Route): { state: State | undefined; connection: Connection } {
  const [state, setState] = useState<State>()
  const [connection, setConnection] = useState<Connection>('connecting')
  useEffect(() => {
    const query = new URLSearchParams({
      brief: 'true',
      limit: String(limit),
      ...(status && { status }),
      ...(q && { q }),
    })
    return follow(String(query), {
      onConnection: setConnection,
      onState(next) {
        setClock(next.clock)
        setState((before) => ({ ...next, deliveries: kept(before?.deliveries ?? [], next.deliveries) }))
      },
    })
  }, [q, status, limit])
  return { state, connection }
}

/** Keeps the object of each unchanged delivery, so that its row is not rendered again. */
function kept(before: readonly Brief[], next: readonly Brief[]): readonly Brief[] {
  const known = new Map(before.map((brief) => [JSON.stringify(brief), brief]))
  return next.map((brief) => known.get(JSON.stringify(brief)) ?? brief)
}
