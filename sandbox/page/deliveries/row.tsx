import type { Brief } from '../data/views.js'
import { Badge, Result } from '../parts/badge.js'
import { memo } from '../parts/memo.js'
import { Age } from '../parts/moment.js'
import { Shown } from '../parts/shown.js'

interface RowProps {
  readonly delivery: Brief
  readonly href: string
  readonly isChosen: boolean
}

/** A delivery in the list: the link opens it. */
export const Row = memo(({ delivery, href, isChosen }: RowProps) => {
  const { id, type, subject, scenario, status, last, attempts, url, created_at, mode } = delivery
  return (
    <tr class={isChosen ? `chosen ${status}` : status}>
      <th scope="row">
        <a href={href} data-id={id} aria-current={isChosen ? 'true' : undefined}>
          <span class="kind">
            <Shown text={type} />
          </span>{' '}
          <span class="subject">
            <Shown text={subject} />
          </span>{' '}
          <span>
            {scenario && <span class="tag">{scenario}</span>}{' '}
            {last?.parked && <span class="tag">parked</span>}{' '}
            {mode === 'live' && <span class="tag">live</span>}
          </span>
        </a>
      </th>
      <td>
        <Badge status={status} />
      </td>
      <td class="last">
        {last === undefined ? <span class="dim">none</span> : <Result {...last} />}
        {last?.says && !last.parked && (
          <span class="says">
            {' '}
            <Shown text={last.says} />
          </span>
        )}
      </td>
      <td class="number">{attempts}</td>
      <td class="endpoint" title={url ?? 'its endpoint was removed'}>
        {url === null ? <span class="dim">removed</span> : <Shown text={url.replace(/^https?:\/\//, '')} />}
      </td>
      <td class="age">
        <Age at={created_at} />
      </td>
    </tr>
  )
})
