import type { AttemptView } from '../data/views.js'
import { bytes, milliseconds } from '../data/words.js'
import { Result } from '../parts/badge.js'
import { Code, Headers, pretty } from '../parts/code.js'
import { Shown } from '../parts/shown.js'

/** The answer. */
export function Answer({ attempt }: { readonly attempt: AttemptView }) {
  const { response, error, duration_ms } = attempt
  const indented = pretty(response?.body ?? '')
  return (
    <section aria-label="Answer">
      <div class="head">
        <h3>Answer</h3>
        <Result status={response?.status} error={error?.code} />
        <span class="dim">in {milliseconds(duration_ms)}</span>
      </div>
      {error !== undefined && (
        <p class="cause">
          There was no answer: <Shown text={error.message} />
        </p>
      )}
      {response !== undefined && (
        <>
          <Code
            text={indented ?? response.body}
            label="The body of the answer"
            isJson={indented !== undefined}
          />
          {response.truncated && (
            <p class="dim">
              {response.body === '' ? 'No longer kept.' : `The first ${bytes(response.body)} of it.`}
            </p>
          )}
          <details>
            <summary>Headers of the answer</summary>
            <Headers headers={response.headers} />
          </details>
        </>
      )}
    </section>
  )
}
