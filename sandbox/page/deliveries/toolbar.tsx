import { useEffect, useRef, useState } from 'preact/hooks'
import { go, type Route, replace } from '../data/route.js'
import { STATUSES, type Status } from '../data/views.js'

const TYPING_MS = 200

/** The filters of the list, and the switch to follow the newest. */
export function Toolbar({
  route,
  counts,
}: {
  readonly route: Route
  readonly counts: Readonly<Record<Status, number>>
}) {
  const [q, setQ] = useState(route.q)
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  useEffect(() => setQ(route.q), [route.q])
  const search = (text: string): void => {
    setQ(text)
    clearTimeout(timer.current)
    timer.current = setTimeout(() => replace({ ...route, q: text.trim() }), TYPING_MS)
  }
  return (
    <search class="toolbar">
      <input
        type="search"
        aria-label="Search"
        placeholder="Search ids, kinds, bodies"
        maxLength={200}
        value={q}
        onInput={(event) => search(event.currentTarget.value)}
      />
      <select
        aria-label="Status"
        value={route.status}
        onChange={(event) => replace({ ...route, status: event.currentTarget.value })}
      >
        <option value="">any status</option>
        {STATUSES.map((status) => (
          <option key={status} value={status}>
            {status} ({counts[status].toLocaleString('en')})
          </option>
        ))}
      </select>
      <button
        type="button"
        aria-pressed={route.follow}
        title="Shows the newest delivery, until another one is chosen"
        onClick={() => go({ ...route, delivery: undefined, attempt: undefined, follow: !route.follow })}
      >
        Follow
      </button>
    </search>
  )
}
