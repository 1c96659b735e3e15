import { send } from '../bar/trigger.js'
import { KINDS } from '../data/kinds.js'
import type { EndpointView } from '../data/views.js'
import { Action } from '../parts/action.js'
import { copy } from '../parts/copy.js'

/** Shown until something is sent: how to send the first webhook. */
export function Empty({ endpoints }: { readonly endpoints: readonly EndpointView[] }) {
  const origin = location.origin
  const lines = [
    ...(endpoints.length === 0
      ? [
          [
            'say where your app listens',
            `npx tix-webhooks endpoints add http://localhost:3000/hooks --sandbox ${origin}`,
          ] as const,
        ]
      : []),
    [
      'put the signing secret into its environment',
      `npx tix-webhooks secret --sandbox ${origin} >> .env`,
    ] as const,
    ['send it a webhook', `npx tix-webhooks trigger order.created --sandbox ${origin}`] as const,
    ['let three days of retries pass', `npx tix-webhooks advance 72h --sandbox ${origin}`] as const,
  ]
  return (
    <div class="empty">
      <h3>Nothing was sent yet</h3>
      <p>Send a webhook from here, or paste the commands into a terminal.</p>
      <p>
        <Action look="main" run={() => send({ kind: KINDS[0] })}>
          Trigger
        </Action>{' '}
        <span class="dim">{KINDS[0]}</span>
      </p>
      <ol>
        {lines.map(([says, line]) => (
          <li key={line}>
            <span>{says}</span>
            <code>{line}</code>
            <Action look="small" run={() => copy(line)}>
              Copy<span class="unseen"> the command: {says}</span>
            </Action>
          </li>
        ))}
      </ol>
    </div>
  )
}
