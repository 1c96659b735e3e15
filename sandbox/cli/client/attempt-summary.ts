import type { AnswerView, AttemptView } from './control-api.js'

/** The parts of an attempt that are printed and judged, wherever the attempt comes from. */
export interface AttemptSummary {
  readonly url: string
  readonly scenario?: string | undefined
  /** The body that was sent, if it is known. */
  readonly body?: string | undefined
  readonly response?: AnswerView | undefined
  readonly error?: { readonly code: string; readonly message: string } | undefined
  readonly durationMs: number
  readonly hint?: string | undefined
}

/** The summary of an attempt of the control API. */
export function summaryOf(attempt: AttemptView): AttemptSummary {
  return { ...attempt, body: attempt.request.body, durationMs: attempt.duration_ms }
}
