import { useState } from 'preact/hooks'
import type { AttemptView } from '../data/views.js'
import { bytes, milliseconds } from '../data/words.js'
import { Result } from '../parts/badge.js'
import { Code, Headers, pretty } from '../parts/code.js'
import { Scrolls } from '../parts/scrolls.js'
import { Shown } from '../parts/shown.js'
import { differenceOf } from './difference.js'

interface AnswerProps {
  readonly attempt: AttemptView
  readonly attempts: readonly AttemptView[]
}

/** The answer, and its difference from another one. */
export function Answer({ attempt, attempts }: AnswerProps) {
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
              {response.body === ''
                ? 'It is so old that it was dropped.'
                : `The first ${bytes(response.body)} of it.`}
            </p>
          )}
          <details>
            <summary>Headers of the answer</summary>
            <Headers headers={response.headers} />
          </details>
        </>
      )}
      {attempts.length > 1 && <Difference attempt={attempt} attempts={attempts} />}
    </section>
  )
}

function Difference({ attempt, attempts }: AnswerProps) {
  const others = attempts.filter(({ id }) => id !== attempt.id)
  const before = others.filter(({ number }) => number < attempt.number).at(-1) ?? others[0]
  const [chosen, setChosen] = useState<string>()
  const other = others.find(({ id }) => id === chosen) ?? before
  if (other === undefined) return null
  const lines = differenceOf(textOf(other), textOf(attempt))
  const isSame = lines.every(({ sign }) => sign === ' ')
  return (
    <details class="difference">
      <summary>Difference to another answer</summary>
      <label>
        Compare with{' '}
        <select value={other.id} onChange={(event) => setChosen(event.currentTarget.value)}>
          {others.map(({ id, number, response, error }) => (
            <option key={id} value={id}>
              attempt {number}: {response?.status ?? error?.code}
            </option>
          ))}
        </select>
      </label>
      {isSame ? (
        <p>The answers are the same.</p>
      ) : (
        <Scrolls as="pre" label="Difference">
          {lines.map(({ sign, text }, index) => (
            <span key={index} class={sign === '+' ? 'added' : sign === '-' ? 'removed' : undefined}>
              {sign} <Shown text={text} />
              {'\n'}
            </span>
          ))}
        </Scrolls>
      )}
    </details>
  )
}

/** An answer in the lines of HTTP, without the date, which differs each time. */
function textOf({ response, error }: AttemptView): string {
  if (response === undefined) return `no answer: ${error?.code}\n${error?.message}`
  const headers = Object.entries(response.headers).filter(([name]) => name !== 'date')
  const lines = headers.map(([name, value]) => `${name}: ${value}`).sort()
  return [String(response.status), ...lines, '', pretty(response.body) ?? response.body].join('\n')
}
