import { useState } from 'preact/hooks'
import { advance } from '../bar/clock.js'
import { hashOf, type Route } from '../data/route.js'
import type { AttemptView, DeliveryView } from '../data/views.js'
import { useVirtual } from '../data/virtual-time.js'
import { milliseconds, span } from '../data/words.js'
import { Action } from '../parts/action.js'
import { Result } from '../parts/badge.js'
import { Moment } from '../parts/moment.js'
import { Shown } from '../parts/shown.js'
import { Table } from '../parts/table.js'

/** Of more attempts than these, the first and the last three are shown. */
const MOST = 5

interface AttemptsProps {
  readonly delivery: DeliveryView
  readonly planned: readonly string[]
  readonly chosen: string | undefined
  readonly route: Route
}

/** The attempts that were made, each of which can be opened, and those to come. */
export function Attempts({ delivery, planned, chosen, route }: AttemptsProps) {
  const [isWhole, setWhole] = useState(false)
  const { attempts, first_at } = delivery
  const made = attempts.at(-1)?.number ?? 0
  const after = (at: string): string => `+${span(Date.parse(at) - Date.parse(first_at))}`
  const rows = attempts.map((attempt) => ({
    isChosen: attempt.id === chosen,
    row: (
      <Made
        key={attempt.id}
        attempt={attempt}
        after={after(attempt.virtual_time)}
        isChosen={attempt.id === chosen}
        href={hashOf({ ...route, delivery: delivery.id, attempt: attempt.id, follow: false })}
      />
    ),
  }))
  const next = planned.map((at, index) => ({
    isChosen: false,
    row: <Planned key={at} at={at} after={after(at)} number={made + index + 1} />,
  }))
  const shown = [rows, next].flatMap((all) =>
    all
      .filter(
        ({ isChosen }, index) =>
          isWhole || all.length <= MOST || isChosen || index === 0 || index >= all.length - 3,
      )
      .map(({ row }) => row),
  )
  const all = rows.length + next.length
  return (
    <section aria-label="Attempts">
      <h3>Attempts</h3>
      {all === 0 ? (
        <p class="dim">none yet</p>
      ) : (
        <Table
          label="Attempts"
          heads={['#|number', 'After', 'Virtual time|at', 'Answer', 'Took|number took']}
        >
          {shown}
        </Table>
      )}
      {(isWhole || shown.length < all) && (
        <button type="button" class="small" aria-expanded={isWhole} onClick={() => setWhole(!isWhole)}>
          {isWhole ? 'Show fewer' : `Show all ${all}`}
        </button>
      )}
    </section>
  )
}

interface MadeProps {
  readonly attempt: AttemptView
  readonly after: string
  readonly isChosen: boolean
  readonly href: string
}

function Made({ attempt, after, isChosen, href }: MadeProps) {
  const { number, virtual_time, trigger, scenario, response, says, error, parked, duration_ms } = attempt
  const tag = scenario ?? (trigger === 'manual' && 'resend')
  return (
    <tr class={isChosen ? 'chosen' : undefined}>
      <th scope="row" class="number">
        <a href={href} aria-current={isChosen ? 'true' : undefined}>
          <span class="unseen">Attempt </span>
          {number}
        </a>
      </th>
      <td>{after}</td>
      <td class="at">
        <Moment at={virtual_time} />
      </td>
      <td class="said">
        <Result status={response?.status} error={error?.code} /> {tag && <span class="tag">{tag}</span>}{' '}
        {parked ? <span class="tag">parked</span> : says && <Shown text={says} />}
      </td>
      <td class="number took">{milliseconds(duration_ms)}</td>
    </tr>
  )
}

interface PlannedProps {
  readonly at: string
  readonly after: string
  readonly number: number
}

function Planned({ at, after, number }: PlannedProps) {
  const left = useVirtual((nowMs) => span(Math.max(0, Date.parse(at) - nowMs)))
  return (
    <tr class="planned">
      <td class="number">{number}</td>
      <td>{after}</td>
      <td class="at">
        <Moment at={at} />
      </td>
      <td colSpan={2}>
        in {left}{' '}
        <Action look="small" run={() => advance({ to: at }, Date.parse(at))}>
          Advance to here<span class="unseen">, attempt {number}</span>
        </Action>
      </td>
    </tr>
  )
}
