import { useState } from 'preact/hooks'
import { call, post } from '../data/api.js'
import { KINDS } from '../data/kinds.js'
import { reasonOf } from '../data/reason.js'
import type { EndpointView } from '../data/views.js'
import { endOf } from '../data/words.js'
import { Action } from '../parts/action.js'
import { copy, Id } from '../parts/copy.js'
import { Form } from '../parts/form.js'
import { notify } from '../parts/notice.js'
import { Shown } from '../parts/shown.js'

const SUBSCRIPTIONS = [...KINDS, 'order.*', 'event.*', '*']

export function Endpoints({ endpoints }: { readonly endpoints: readonly EndpointView[] }) {
  return (
    <>
      <h2>Endpoints</h2>
      <Form label="Add an endpoint" add={(fields) => post('/endpoints', fields)}>
        <label>
          URL
          <input name="url" type="url" required placeholder="http://localhost:3000/hooks" />
        </label>
      </Form>
      {endpoints.length === 0 && <p class="nothing">There is no endpoint yet: webhooks are sent nowhere.</p>}
      <ul class="cards" aria-label="Endpoints">
        {endpoints.map((endpoint) => (
          <Endpoint key={endpoint.id} endpoint={endpoint} />
        ))}
      </ul>
    </>
  )
}

function Endpoint({ endpoint }: { readonly endpoint: EndpointView }) {
  const { id, url, enabled, mode, events, secrets } = endpoint
  const path = `/endpoints/${id}`
  const rotate = async (): Promise<void> => {
    await post(`${path}/rotate`)
    notify('It signs with both secrets now: give your app the new one, then end the rotation.')
  }
  const choose = (event: string): Promise<unknown> => {
    const others = events.filter((one) => one !== event)
    return call('PATCH', path, { events: events.includes(event) ? others : [...events, event] })
  }
  return (
    <li class="card">
      <div class="head">
        <h3>
          <Shown text={url} />
        </h3>
        <span class={`badge ${enabled ? 'good' : ''}`}>{enabled ? 'on' : 'off'}</span>
        {mode === 'live' && <span class="tag">live</span>}
      </div>
      <p class="facts">
        <Id id={id} />
      </p>
      {secrets.map((secret, index) => (
        <Secret
          key={secret}
          secret={secret}
          name={secrets.length === 1 ? 'Secret' : index === 0 ? 'New secret' : 'Old secret'}
        />
      ))}
      <fieldset class="kinds">
        <legend>Kinds</legend>
        {SUBSCRIPTIONS.map((event) => (
          <Kind
            key={event}
            event={event}
            isOn={events.includes(event)}
            isLast={events.length === 1}
            choose={choose}
          />
        ))}
      </fieldset>
      <div class="actions">
        <Action run={() => call('PATCH', path, { enabled: !enabled })}>
          {enabled ? 'Turn off' : 'Turn on'}
        </Action>
        <Action run={rotate}>Rotate</Action>
        {secrets.length > 1 && (
          <Action run={() => post(`${path}/rotate`, { secret: secrets[0], keep_old: false })}>
            End the rotation
          </Action>
        )}
        <Action look="danger" run={() => call('DELETE', path)}>
          Remove
        </Action>
      </div>
    </li>
  )
}

interface KindProps {
  readonly event: string
  readonly isOn: boolean
  /** Whether it is the only subscription, which cannot be turned off. */
  readonly isLast: boolean
  readonly choose: (event: string) => Promise<unknown>
}

function Kind({ event, isOn, isLast, choose }: KindProps) {
  return (
    <label>
      <input
        type="checkbox"
        checked={isOn}
        disabled={isOn && isLast}
        onChange={(change) => {
          const box = change.currentTarget
          choose(event).catch((error: unknown) => {
            box.checked = isOn
            notify(reasonOf(error))
          })
        }}
      />
      {event === '*' ? 'everything' : event}
    </label>
  )
}

/** Hidden until a click: screens are shared. */
function Secret({ secret, name }: { readonly secret: string; readonly name: string }) {
  const [isShown, setShown] = useState(false)
  return (
    <p class="secret">
      <span>{name}</span>
      <code>{isShown ? secret : endOf(secret)}</code>
      <button type="button" class="small" aria-pressed={isShown} onClick={() => setShown(!isShown)}>
        {isShown ? 'Hide' : 'Show'}
        <span class="unseen"> the {name.toLowerCase()}</span>
      </button>
      <Action look="small" run={() => copy(secret)}>
        Copy<span class="unseen"> the {name.toLowerCase()}</span>
      </Action>
    </p>
  )
}
