import { advance } from '../bar/clock.js'
import { hashOf, type Route } from '../data/route.js'
import type { DeliveryView } from '../data/views.js'
import { useVirtual } from '../data/virtual-time.js'
import { milliseconds, span } from '../data/words.js'
import { Action } from '../parts/action.js'
import { Result } from '../parts/badge.js'
import { Moment } from '../parts/moment.js'
import { Table } from '../parts/table.js'

const BY = { auto: 'schedule', manual: 'resend', scenario: 'scenario' }

interface AttemptsProps {
  readonly delivery: DeliveryView
  readonly planned: readonly string[]
  readonly chosen: string | undefined
  readonly route: Route
}

/** The attempts that were made, each of which can be opened, and those to come. */
export function Attempts({ delivery, planned, chosen, route }: AttemptsProps) {
  const { attempts, id } = delivery
  const made = attempts.at(-1)?.number ?? 0
  return (
    <section aria-label="Attempts">
      <h3>Attempts</h3>
      <Table label="Attempts" heads={['#|number', 'Virtual time', 'By', 'Answer', 'Took|number took']}>
        {attempts.map((attempt) => (
          <tr key={attempt.id} class={attempt.id === chosen ? 'chosen' : undefined}>
            <th scope="row" class="number">
              <a
                href={hashOf({ ...route, delivery: id, attempt: attempt.id, follow: false })}
                aria-current={attempt.id === chosen ? 'true' : undefined}
              >
                <span class="unseen">Attempt </span>
                {attempt.number}
              </a>
            </th>
            <td>
              <Moment at={attempt.virtual_time} />
            </td>
            <td>{attempt.scenario ?? BY[attempt.trigger]}</td>
            <td>
              <Result status={attempt.response?.status} error={attempt.error?.code} />
              {attempt.parked && <span class="tag">parked</span>}
            </td>
            <td class="number took">{milliseconds(attempt.duration_ms)}</td>
          </tr>
        ))}
        {planned.map((at, index) => (
          <Planned key={at} at={at} number={made + index + 1} />
        ))}
        {attempts.length + planned.length === 0 && (
          <tr>
            <td colSpan={5} class="dim">
              none yet
            </td>
          </tr>
        )}
      </Table>
    </section>
  )
}

function Planned({ at, number }: { readonly at: string; readonly number: number }) {
  const left = useVirtual((nowMs) => span(Math.max(0, Date.parse(at) - nowMs)))
  return (
    <tr class="planned">
      <td class="number">{number}</td>
      <td>
        <Moment at={at} />
      </td>
      <td>in {left}</td>
      <td colSpan={2}>
        <Action look="small" run={() => advance({ to: at }, Date.parse(at))}>
          Advance to here<span class="unseen">, attempt {number}</span>
        </Action>
      </td>
    </tr>
  )
}
