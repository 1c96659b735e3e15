import { isParked } from '../../lib/outcome-of.js'
import type { AttemptView } from '../data/views.js'

const TONES: Readonly<Record<string, string>> = {
  delivered: 'good',
  on_sale: 'good',
  failed: 'bad',
  cancelled: 'bad',
  retrying: 'warm',
  sold_out: 'warm',
  pending: 'cool',
  draft: 'cool',
}

/** A status: a word and a colour. */
export function Badge({ status }: { readonly status: string }) {
  return <span class={`badge ${TONES[status] ?? ''}`}>{status.replace('_', ' ')}</span>
}

interface ResultProps {
  readonly status?: number | undefined
  /** Whether it was parked, and not handled. */
  readonly parked?: boolean | undefined
  readonly error?: string | undefined
}

/** The answer: an HTTP status, or the code of an error. */
export function Result({ status, parked = false, error }: ResultProps) {
  if (status === undefined) return <code class="result bad">{error ?? 'none'}</code>
  if (parked) return <code class="result warm">{status} parked</code>
  const tone = status < 300 ? 'good' : status < 400 ? 'warm' : 'bad'
  return <code class={`result ${tone}`}>{status}</code>
}

/** The answer to an attempt. */
export function AttemptResult({ attempt: { response, error } }: { readonly attempt: AttemptView }) {
  return <Result status={response?.status} parked={isParked(response)} error={error?.code} />
}
