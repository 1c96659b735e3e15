import { useEffect, useRef, useState } from 'preact/hooks'
import { go, type Route, replace } from '../data/route.js'
import { type State, TABS, type Tab } from '../data/views.js'

const TYPING_MS = 200

interface ToolbarProps {
  readonly route: Route
  readonly counts: State['status']['deliveries']
}

/** The filters of the list, and the switch to follow the newest. */
export function Toolbar({ route, counts }: ToolbarProps) {
  const [q, setQ] = useState(route.q)
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  // A click during the delay must not be undone.
  const latest = useRef(route)
  latest.current = route
  useEffect(() => {
    if (route.q !== q.trim()) setQ(route.q)
  }, [route.q])
  useEffect(() => () => clearTimeout(timer.current), [])
  const search = (text: string): void => {
    setQ(text)
    clearTimeout(timer.current)
    timer.current = setTimeout(() => replace({ ...latest.current, q: text.trim() }), TYPING_MS)
  }
  return (
    <div class="toolbar">
      <Tabs route={route} counts={counts} />
      <search>
        <input
          type="search"
          aria-label="Search"
          placeholder="Search ids, kinds, bodies"
          maxLength={200}
          value={q}
          onInput={(event) => search(event.currentTarget.value)}
        />
        <button
          type="button"
          aria-pressed={route.follow}
          title="Shows the newest delivery, until another one is chosen"
          onClick={() => go({ ...route, delivery: undefined, attempt: undefined, follow: !route.follow })}
        >
          Follow
        </button>
      </search>
    </div>
  )
}

/** A tab for each status; the arrows move between them. */
function Tabs({ route, counts }: ToolbarProps) {
  const list = useRef<HTMLDivElement>(null)
  const choose = (status: Tab): void => replace({ ...route, status })
  const press = (event: KeyboardEvent): void => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key]
    if (step === undefined) return
    const next = (TABS.indexOf(route.status) + step + TABS.length) % TABS.length
    choose(TABS[next] ?? '')
    list.current?.querySelectorAll<HTMLElement>('[role=tab]')[next]?.focus()
    event.preventDefault()
  }
  return (
    <div role="tablist" aria-label="Status" ref={list} onKeyDown={press}>
      {TABS.map((tab) => (
        <button
          key={tab}
          type="button"
          role="tab"
          aria-selected={tab === route.status}
          aria-controls="rows"
          tabIndex={tab === route.status ? 0 : -1}
          onClick={() => choose(tab)}
        >
          {tab === '' ? 'All' : tab === 'scenario' ? 'scenarios' : tab}{' '}
          <span class="dim">{countOf(tab, counts).toLocaleString('en')}</span>
        </button>
      ))}
    </div>
  )
}

export function countOf(tab: Tab, counts: ToolbarProps['counts']): number {
  if (tab === 'scenario') return counts.passed + counts.wrong_answer
  return tab === '' ? Object.values(counts).reduce((sum, count) => sum + count) : counts[tab]
}
