import { useState } from 'preact/hooks'
import { get, post } from '../data/api.js'
import { KINDS } from '../data/kinds.js'
import { reasonOf } from '../data/reason.js'
import type { DeliveryView, ScenarioView } from '../data/views.js'
import { count } from '../data/words.js'
import { Action } from '../parts/action.js'
import { Choice } from '../parts/choice.js'
import { notify } from '../parts/notice.js'
import { useLoaded } from '../parts/use-loaded.js'

/** The example of data if no delivery of the kind has been sent yet. */
const SAMPLE = {
  order: { id: 'ord_1', total_cents: 5400, buyer_email: 'buyer1@example.com' },
  tickets: [{ id: 'tik_1', tier: 'general admission' }],
}

interface Triggered {
  readonly deliveries: readonly string[]
}

/** Sends a webhook of a kind, or one that was captured. */
export async function send(request: {
  kind?: string
  event?: string
  mode?: string
  scenario?: string
  data?: unknown
}): Promise<readonly string[]> {
  const { deliveries } = await post<Triggered>('/trigger', request)
  const [first] = deliveries
  notify(
    first === undefined ? (
      <>
        No endpoint is subscribed to it: <a href="#/endpoints">add one</a>.
      </>
    ) : (
      <>
        Sent: <a href={`#/deliveries/${first}`}>{count(deliveries.length, 'delivery', 'deliveries')}</a>.
      </>
    ),
  )
  return deliveries
}

/** The form that sends a webhook. */
export function Trigger() {
  const [kind, setKind] = useState<string>(KINDS[0])
  const [scenario, setScenario] = useState('')
  const [data, setData] = useState('')
  const [problem, setProblem] = useState('')
  const scenarios = useLoaded(() => get<{ data: ScenarioView[] }>('/scenarios'), [])?.data ?? []
  const says = scenarios.find(({ name }) => name === scenario)?.description

  const submit = async (): Promise<void> => {
    try {
      const given = data.trim() === '' ? {} : { data: readData(data) }
      setProblem('')
      await send({ kind, ...(scenario && { scenario }), ...given })
    } catch (error) {
      setProblem(reasonOf(error))
    }
  }
  return (
    <form
      aria-label="Trigger"
      class="trigger"
      onSubmit={(event) => {
        event.preventDefault()
        void submit()
      }}
    >
      <Choice label="Kind" choices={KINDS} value={kind} choose={setKind} />
      <Choice
        label="Scenario"
        none="none"
        choices={scenarios.map(({ name }) => name)}
        value={scenario}
        choose={setScenario}
      />
      <button type="submit" class="main">
        Send
      </button>
      <details>
        <summary>Edit its data</summary>
        <label for="trigger-data">Data as JSON (leave empty to generate it)</label>
        <textarea
          id="trigger-data"
          rows={8}
          spellcheck={false}
          value={data}
          aria-invalid={problem !== ''}
          aria-describedby="trigger-problem"
          onInput={(event) => setData(event.currentTarget.value)}
        />
        <Action look="small" run={async () => setData(JSON.stringify(await sampleOf(kind), null, 2))}>
          Fill in
        </Action>
      </details>
      {says !== undefined && <p class="says">{says}</p>}
      <p id="trigger-problem" class="problem" role="alert">
        {problem}
      </p>
    </form>
  )
}

/** @throws Error that says where it is no JSON; that it is an object is checked by the control */
function readData(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new Error(`The data is not valid JSON: ${reasonOf(error)}`)
  }
}

/** The data of the latest delivery of the kind, as a sample. */
async function sampleOf(kind: string): Promise<unknown> {
  const { data } = await get<{ data: DeliveryView[] }>(`/deliveries?limit=1&type=${encodeURIComponent(kind)}`)
  try {
    return JSON.parse(data[0]?.body ?? '').data
  } catch {
    return kind === KINDS[0] ? SAMPLE : { event: { id: 'evt_1', title: 'Harbour Jazz' } }
  }
}
