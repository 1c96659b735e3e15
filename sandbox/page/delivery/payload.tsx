import { useState } from 'preact/hooks'
import type { AttemptView, DeliveryView } from '../data/views.js'
import { bytes } from '../data/words.js'
import { Action } from '../parts/action.js'
import { Code, Headers, pretty } from '../parts/code.js'
import { copy } from '../parts/copy.js'
import { Shown } from '../parts/shown.js'

/** The request of an attempt: its URL, headers and body, raw and indented. Without an attempt, the body that will be sent. */
export function Payload({
  delivery,
  attempt,
}: {
  readonly delivery: DeliveryView
  readonly attempt: AttemptView | undefined
}) {
  const [isRaw, setRaw] = useState(false)
  const { headers, body = delivery.body } = attempt?.request ?? {}
  const indented = pretty(body)
  return (
    <section aria-label="Payload">
      <div class="head">
        <h3>Payload</h3>
        <span class="dim">{bytes(body)}</span>
        {/* biome-ignore lint/a11y/useSemanticElements: a fieldset is for a form */}
        <span class="choice" role="group" aria-label="Form of the payload">
          <button
            type="button"
            aria-pressed={!isRaw && indented !== undefined}
            disabled={indented === undefined}
            onClick={() => setRaw(false)}
          >
            Pretty
          </button>
          <button type="button" aria-pressed={isRaw || indented === undefined} onClick={() => setRaw(true)}>
            Raw
          </button>
        </span>
        <Action look="small" run={() => copy(body)}>
          Copy<span class="unseen"> the payload</span>
        </Action>
      </div>
      {attempt && (
        <p class="url">
          <b>POST</b> <Shown text={attempt.url} />
        </p>
      )}
      {isRaw || indented === undefined ? (
        <Code text={body} label="The body as it was sent" />
      ) : (
        <Code text={indented} label="The body, with indentation" isJson />
      )}
      {attempt?.request.inexact && (
        <p class="dim">
          {body === ''
            ? 'No longer kept.'
            : 'Not exactly what was sent: the sandbox keeps the first 64 KiB, as UTF-8.'}
        </p>
      )}
      {headers && (
        <details>
          <summary>Headers that were sent</summary>
          <Headers headers={headers} />
        </details>
      )}
    </section>
  )
}
