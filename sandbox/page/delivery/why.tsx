import { get } from '../data/api.js'
import { type AttemptView, type DeliveryView, isAccepted, type WhyView } from '../data/views.js'
import { Shown } from '../parts/shown.js'
import { useLoaded } from '../parts/use-loaded.js'

interface WhyProps {
  readonly delivery: DeliveryView
  readonly attempt: AttemptView
}

/** Why an attempt was not accepted or not handled. For a scenario, also the expected answer and the actual one. */
export function Why({ delivery, attempt }: WhyProps) {
  const isGood = isAccepted(attempt)
  const why = useLoaded(
    () => get<WhyView>(`/deliveries/${encodeURIComponent(delivery.id)}/attempts/${attempt.id}/why`),
    [delivery.id, attempt.id],
  )
  const scenario = why?.scenario
  const hasPassed = scenario?.passed && scenario.note === undefined
  return (
    <>
      {scenario !== undefined && (
        <section aria-label="Scenario" class={`why ${hasPassed ? 'good' : 'bad'}`}>
          <h3>
            Scenario <code>{scenario.name}</code>: {hasPassed ? 'passed' : 'wrong answer'}
          </h3>
          <p>{scenario.description}</p>
          <p>
            Expected <b>{scenario.expected}</b>, got <b>{scenario.got}</b>. {scenario.note}
          </p>
        </section>
      )}
      {(!isGood || why?.advice) && (
        <section aria-label="Why" class={`why ${isGood || hasPassed ? '' : 'bad'}`}>
          <h3>Why</h3>
          {why?.advice && (
            <p>
              <Shown text={why.advice} />
            </p>
          )}
          {why !== undefined && <Verdict signature={why.signature} />}
          {delivery.reason !== undefined && <p class="dim">{delivery.reason}</p>}
        </section>
      )}
    </>
  )
}

/** The verdict of a correct receiver on the signature. */
function Verdict({ signature }: Pick<WhyView, 'signature'>) {
  if (signature === null) return null
  return (
    <>
      <p>
        {signature.valid ? (
          <>
            The signature was <b class="good">valid</b> when it was sent, by the secret of this endpoint.
          </>
        ) : (
          <>
            The signature is <b class="bad">invalid</b>: <code>{signature.code}</code>.{' '}
            <Shown text={signature.reason} />
          </>
        )}
      </p>
      {signature.findings.length > 0 && (
        <ul>
          {signature.findings.map((finding) => (
            <li key={finding}>
              <Shown text={finding} />
            </li>
          ))}
        </ul>
      )}
    </>
  )
}
