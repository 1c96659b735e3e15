import { useEffect, useState } from 'preact/hooks'
import { TABS, type Tab } from './views.js'

export const VIEWS = [
  'Deliveries',
  'Events',
  'Orders',
  'Endpoints',
  'Requests',
  'Faults',
  'Assumptions',
] as const
type View = (typeof VIEWS)[number]

/** The state in the URL: a view, the chosen delivery and attempt, and the filters of the list. */
export interface Route {
  readonly view: View
  readonly delivery?: string | undefined
  readonly attempt?: string | undefined
  readonly q: string
  readonly status: Tab
  readonly limit: number
  /** Whether the newest delivery is shown, whichever that is. */
  readonly follow: boolean
}

export const LIMIT = 100
export const MAX_LIMIT = 1000

function readRoute(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?')
  const [name, delivery, attempt] = path.split('/').map(decoded)
  const given = new URLSearchParams(query)
  const view = VIEWS.find((one) => one.toLowerCase() === name) ?? 'Deliveries'
  return {
    view,
    delivery: delivery || undefined,
    attempt: attempt || undefined,
    q: (given.get('q') ?? '').slice(0, 200),
    status: TABS.find((one) => one === given.get('status')) ?? '',
    limit: Math.min(Math.max(Math.trunc(Number(given.get('limit'))) || LIMIT, 1), MAX_LIMIT),
    follow: given.has('follow'),
  }
}

/** The address of a route; the filter is a part of it, so that it can be shared. */
export function hashOf({ view, delivery, attempt, q, status, limit, follow }: Route): string {
  const path = [view.toLowerCase(), delivery, attempt].filter((part) => part !== undefined)
  const query = new URLSearchParams({
    ...(q && { q }),
    ...(status && { status }),
    ...(limit !== LIMIT && { limit: String(limit) }),
    ...(follow && { follow: '' }),
  })
  return `#/${path.map(encodeURIComponent).join('/')}${query.size > 0 ? `?${query}` : ''}`
}

export const go = (route: Route): void => {
  location.hash = hashOf(route)
}

/** Replaces the entry of the history: typing into the search box adds no step to go back to. */
export const replace = (route: Route): void => {
  history.replaceState(null, '', hashOf(route))
  dispatchEvent(new HashChangeEvent('hashchange'))
}

export function useRoute(): Route {
  const [route, setRoute] = useState(() => readRoute(location.hash))
  useEffect(() => {
    const change = (): void => setRoute(readRoute(location.hash))
    addEventListener('hashchange', change)
    return () => removeEventListener('hashchange', change)
  }, [])
  return route
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
