import { isSuccessStatus } from './is-success-status.js'

/** The parts of an answer that say whether an event was handled. */
interface Answer {
  readonly status: number
  readonly body: string
}

interface Answered {
  readonly response?: Answer | undefined
  readonly error?: { readonly code: string } | undefined
}

/** The outcome in the answer of one of our receivers; undefined for other answers. */
export function outcomeOf(body: string): string | undefined {
  return /^\{"outcome":"([a-z_]{1,30})"\}$/.exec(body)?.[1]
}

/** Whether one of our receivers keeps the event for a replay: it is not handled, though a 2xx ends the retries. */
export function isParked(answer: Answer | undefined): boolean {
  return answer !== undefined && isSuccessStatus(answer.status) && outcomeOf(answer.body) === 'parked'
}

/** Whether an event was handled, as far as an answer shows it: by a 2xx, unless it was parked. */
export function isHandled(answer: Answer | undefined): boolean {
  return answer !== undefined && isSuccessStatus(answer.status) && !isParked(answer)
}

/** An answer in a word or two: `200`, `200 parked`, or why there was none. */
export function answerText({ response, error }: Answered): string {
  if (response === undefined) return String(error?.code)
  return isParked(response) ? `${response.status} parked` : String(response.status)
}
