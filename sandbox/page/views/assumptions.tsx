import { get } from '../data/api.js'
import type { AssumptionView } from '../data/views.js'
import { useLoaded } from '../parts/use-loaded.js'

/** The questions that the service's document leaves open, and the answers assumed here. */
export function Assumptions() {
  const list = useLoaded(() => get<{ data: readonly AssumptionView[] }>('/assumptions'), [])?.data ?? []
  return (
    <>
      <h2>Assumptions</h2>
      <p class="lead">
        The service’s document leaves these open. Run your tests once by each reading:{' '}
        <code>npx tix-webhooks sandbox --assume network-error=final</code>
      </p>
      <ul class="cards" aria-label="Assumptions">
        {list.map(({ name, says, choices, chosen }) => (
          <li key={name} class="card">
            <h3>
              <code>{name}</code>
            </h3>
            <p>{says}</p>
            <ul class="choices">
              {Object.entries(choices).map(([choice, what]) => (
                <li key={choice} class={choice === chosen ? 'chosen' : 'dim'}>
                  <code>{choice}</code>: {what}{' '}
                  {choice === chosen && <span class="badge good">in force</span>}
                </li>
              ))}
            </ul>
          </li>
        ))}
      </ul>
    </>
  )
}
