import { useState } from 'preact/hooks'
import { send } from '../bar/trigger.js'
import { get } from '../data/api.js'
import { go, type Route } from '../data/route.js'
import type { AttemptView, CurlView, DeliveryView, EndpointView, ScenarioView } from '../data/views.js'
import { Action } from '../parts/action.js'
import { Choice } from '../parts/choice.js'
import { copy } from '../parts/copy.js'
import { useLoaded } from '../parts/use-loaded.js'
import { resend } from './resend.js'

interface ActionsProps {
  readonly delivery: DeliveryView
  readonly attempt: AttemptView | undefined
  readonly endpoint: EndpointView | undefined
  readonly route: Route
}

/** The actions on a delivery. */
export function Actions({ delivery, attempt, endpoint, route }: ActionsProps) {
  const { id } = delivery
  const isGone = endpoint === undefined
  return (
    <div class="actions">
      <Action
        look="main"
        disabled={isGone}
        title={
          isGone
            ? 'Its endpoint was removed, and its secret with it'
            : 'The same bytes with a new signature (r)'
        }
        run={() => resend(id, route)}
      >
        Resend
      </Action>
      {(attempt !== undefined || !isGone) && (
        <Action
          run={async () => {
            const path = attempt === undefined ? '' : `/attempts/${attempt.id}`
            const { command, fresh } = await get<CurlView>(`/deliveries/${id}${path}/curl`)
            await copy(
              command,
              fresh
                ? 'Copied, with a fresh signature, valid for five minutes.'
                : 'Copied, exactly as it was sent.',
            )
          }}
        >
          Copy as cURL
        </Action>
      )}
      <details class="more-actions">
        <summary>More</summary>
        <Elsewhere id={id} route={route} disabled={isGone} />
        <AsScenario delivery={delivery} route={route} />
      </details>
    </div>
  )
}

function Elsewhere({ id, route, disabled }: { id: string; route: Route; disabled: boolean }) {
  const [to, setTo] = useState('')
  return (
    <div class="field">
      <label>
        Send to
        <input
          type="url"
          placeholder="http://localhost:3001/hooks"
          value={to}
          onInput={(event) => setTo(event.currentTarget.value)}
        />
      </label>
      <Action disabled={disabled || to === ''} run={() => resend(id, route, to)}>
        Send to…
      </Action>
    </div>
  )
}

function AsScenario({ delivery, route }: { delivery: DeliveryView; route: Route }) {
  const scenarios = useLoaded(() => get<{ data: ScenarioView[] }>('/scenarios'), [])?.data ?? []
  const [chosen, setChosen] = useState('duplicate')
  const play = async (): Promise<void> => {
    const { body, mode, endpoint } = delivery
    const ids = await send({ event: body, mode, scenario: chosen })
    const sent = await Promise.all(ids.map((id) => get<DeliveryView>(`/deliveries/${id}`)))
    const mine = sent.find((one) => one.endpoint === endpoint) ?? sent[0]
    if (mine !== undefined) go({ ...route, delivery: mine.id, attempt: undefined, follow: false })
  }
  return (
    <div class="field">
      <Choice
        label="As scenario"
        choices={scenarios.map(({ name }) => name)}
        value={chosen}
        choose={setChosen}
      />
      <Action run={play}>Send as scenario</Action>
      <p class="says">{scenarios.find(({ name }) => name === chosen)?.description}</p>
    </div>
  )
}
