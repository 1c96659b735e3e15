const TONES: Readonly<Record<string, string>> = {
  delivered: 'good',
  passed: 'good',
  wrong_answer: 'bad',
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

/** The answer: an HTTP status, or the code of an error. */
export function Result({
  status,
  error,
}: {
  readonly status?: number | undefined
  readonly error?: string | undefined
}) {
  if (status === undefined) return <code class="result bad">{error ?? 'none'}</code>
  const tone = status < 300 ? 'good' : status < 400 ? 'warm' : 'bad'
  return <code class={`result ${tone}`}>{status}</code>
}
