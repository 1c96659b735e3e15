import { MAX_ANSWER } from './attempt-lines.js'
import { sayDuration } from './durations.js'
import type { Forwarded } from './forward.js'
import { textOf } from './input.js'
import type { Inspected } from './inspect-delivery.js'
import { type Output, oneLine, printable } from './output.js'
import type { Received } from './receiving-server.js'

/** What a listener is, once it listens. */
export interface Ready {
  readonly out: Output
  readonly url: string
  /** Its id in the sandbox; undefined without one. */
  readonly endpoint: string | undefined
  readonly target: string | undefined
  readonly isVerifying: boolean
}

/** Says where it listens. */
export function tellReady({ out, url, endpoint, target, isVerifying }: Ready): void {
  out.tell(
    {
      event: 'listening',
      url,
      ...(endpoint !== undefined && { endpoint }),
      ...(target !== undefined && { forward_to: target }),
    },
    `Listening at ${out.colors.bold(url)}${target === undefined ? '' : `, passing on to ${printable(target)}`}`,
  )
  if (endpoint !== undefined) {
    out.note(
      `It is endpoint ${endpoint} of the sandbox, until Ctrl-C. Its secret: tix-webhooks secret ${endpoint}`,
    )
  } else {
    out.note('No sandbox is running: only what is sent to this address comes here. Ctrl-C ends it.')
    if (!isVerifying) out.note('Nothing is verified: there is no --secret.')
  }
}

/** Says what came. */
export function tellReceived(
  { method, path, body }: Received,
  { kind, verdict, code, reason, ageSeconds }: Inspected,
  { out, withBody }: { out: Output; withBody: boolean },
): void {
  const { colors } = out
  const text = textOf(body)
  const judged = {
    verified: () => colors.green(`verified, signed ${ageSeconds} s ago`),
    refused: () => colors.red(`refused: ${code}`),
    unchecked: () => colors.dim('not verified'),
  }[verdict]()
  const what = kind ?? `${method} ${path}, no event`
  const lines = [
    `${colors.cyan('-->')} ${colors.bold(printable(what))} ${judged}, ${body.length} bytes`,
    ...(reason === undefined ? [] : [`    ${colors.dim(printable(reason))}`]),
    ...(withBody ? [`    ${printable(text)}`] : []),
  ]
  out.tell(
    {
      event: 'received',
      method,
      path,
      kind,
      verdict,
      code,
      reason,
      signature_age_seconds: ageSeconds,
      body: text,
    },
    lines.join('\n'),
  )
}

/** Says what was answered. */
export function tellAnswered(
  { status, body, error }: Forwarded,
  { out, durationMs, target }: { out: Output; durationMs: number; target: string | undefined },
): void {
  const { colors } = out
  const paint = status < 300 ? colors.green : colors.red
  const by = target === undefined ? '' : ` POST ${printable(target)}`
  // What we say ourselves where the receiver is gone is said below.
  const answer = error === undefined && body !== undefined ? oneLine(textOf(body), MAX_ANSWER) : ''
  const why = error === undefined ? '' : `\n    ${colors.dim(printable(error.message))}`
  out.tell(
    { event: 'answered', status, duration_ms: Math.round(durationMs), ...(error && { error }) },
    `${paint(`<-- [${error?.code ?? status}]`)}${by} ${sayDuration(durationMs)}${answer && ` ${colors.dim(answer)}`}${why}`,
  )
}
