import { send } from '../bar/trigger.js'
import { KINDS } from '../data/kinds.js'
import type { EndpointView } from '../data/views.js'
import { Action } from '../parts/action.js'
import { copy } from '../parts/copy.js'
import { Shown } from '../parts/shown.js'

/** Shown until something is sent: the target, a button, and the commands for a terminal. */
export function Empty({ endpoints }: { readonly endpoints: readonly EndpointView[] }) {
  const [first, ...others] = endpoints
  const commands = [
    ...(first === undefined ? ['endpoints add http://localhost:3000/hooks'] : []),
    'secret >> .env',
    'trigger order.created',
    'advance 72h',
  ].map((command) => `npx tix-webhooks ${command.replace(/$| >/, ` --sandbox ${location.origin}$&`)}`)
  return (
    <div class="empty">
      <h3>Nothing has been sent yet</h3>
      <p>
        {first === undefined ? (
          'No endpoint yet: webhooks go nowhere.'
        ) : (
          <>
            Delivering to{' '}
            <b>
              <Shown text={first.url} />
            </b>
            {others.length > 0 && ` and ${others.length} more`}
          </>
        )}
      </p>
      <Action look="main" run={() => send({ kind: KINDS[0] })}>
        Send {KINDS[0]}
      </Action>
      <ol>
        {commands.map((command) => (
          <li key={command}>
            <code>{command}</code>
            <Action look="small" run={() => copy(command)}>
              Copy<span class="unseen"> {command}</span>
            </Action>
          </li>
        ))}
      </ol>
    </div>
  )
}
