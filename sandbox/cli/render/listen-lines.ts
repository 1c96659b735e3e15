import { hintForParked, isSuccessStatus, outcomeOf } from '../../internal.js'
import { sayDuration } from '../arguments/durations.js'
import { textOf } from '../arguments/input.js'
import type { Forwarded } from '../client/forward.js'
import type { Inspected } from '../client/inspect-delivery.js'
import type { KnownDelivery } from '../client/known-deliveries.js'
import type { Received } from '../client/receiving-server.js'
import { line } from '../terminal/layout.js'
import { type Output, oneLine, printable } from '../terminal/output.js'
import { MAX_ANSWER } from './attempt-lines.js'
import { timeOfDay } from './clock-lines.js'

/** A listener that is ready. */
export interface Ready {
  readonly out: Output
  readonly url: string
  /** Its id in the sandbox; undefined without one. */
  readonly endpoint: string | undefined
  readonly target: string | undefined
  readonly isVerifying: boolean
}

/** Says where it listens. */
export function printReady({ out, url, endpoint, target, isVerifying }: Ready): void {
  out.print(
    {
      event: 'listening',
      url,
      ...(endpoint !== undefined && { endpoint }),
      ...(target !== undefined && { forward_to: target }),
    },
    `Listening at ${out.colors.bold(url)}${target === undefined ? '' : `, forwarding to ${printable(target)}`}`,
  )
  if (endpoint !== undefined) {
    out.note(
      `Until Ctrl-C it is endpoint ${endpoint} of the sandbox. To see its secret: tix-webhooks secret ${endpoint}`,
    )
  } else {
    out.note('No sandbox is running: it receives only what is sent to this address. Stop it with Ctrl-C.')
    if (!isVerifying) out.note('Signatures are not verified: give --secret, or set TIX_SIGNING_SECRET.')
  }
}

/** Says what was received. */
export function printReceived(
  { method, path, body }: Received,
  { kind, verdict, code, reason, ageSeconds }: Inspected,
  { out, withBody, delivery }: { out: Output; withBody: boolean; delivery: KnownDelivery },
): void {
  const { colors } = out
  const text = textOf(body)
  const judged = {
    verified: () => colors.green('verified'),
    refused: () => colors.red(`refused: ${code}`),
    unchecked: () => colors.dim('not verified'),
  }[verdict]()
  const pieces = [
    { text: colors.dim(timeOfDay()) },
    { text: colors.cyan('-->') },
    { text: printable(kind ?? `${method} ${path}, no event`) },
    ...idOf(delivery),
    { text: judged },
    ...(kind === undefined ? [] : [{ text: `attempt ${delivery.attempt}` }]),
    ...(ageSeconds === undefined ? [] : [{ text: `signed ${ageSeconds} s ago`, drop: 2 }]),
    { text: colors.dim(`${body.length} bytes`), drop: 1 },
  ]
  const lines = [
    line(pieces, out.columns),
    ...(reason === undefined ? [] : [`${INDENT}${colors.bold(printable(reason))}`]),
    ...(withBody ? [`${INDENT}${printable(text)}`] : []),
  ]
  out.print(
    {
      event: 'received',
      method,
      path,
      kind,
      delivery: delivery.id,
      attempt: delivery.attempt,
      verdict,
      code,
      reason,
      signature_age_seconds: ageSeconds,
      body: text,
    },
    lines.join('\n'),
  )
}

/** Below a time and an arrow. */
const INDENT = ' '.repeat(13)

const idOf = ({ id }: KnownDelivery): { text: string }[] => (id === undefined ? [] : [{ text: `[${id}]` }])

/** Says what was answered. */
export function printAnswered(
  { status, body, error }: Forwarded,
  {
    out,
    durationMs,
    target,
    delivery,
  }: { out: Output; durationMs: number; target: string | undefined; delivery: KnownDelivery },
): void {
  const { colors } = out
  const text = body === undefined ? '' : textOf(body)
  const advice = error?.message ?? hintForParked({ status, body: text })
  const paint = !isSuccessStatus(status) ? colors.red : advice === undefined ? colors.green : colors.magenta
  const outcome = outcomeOf(text)
  // Our own answer if the receiver is gone is explained below.
  const answer = error === undefined && outcome === undefined ? oneLine(text, MAX_ANSWER) : ''
  const pieces = [
    { text: colors.dim(timeOfDay()) },
    { text: paint(`<-- [${error?.code ?? status}]`) },
    ...(outcome === undefined ? [] : [{ text: paint(outcome) }]),
    ...(target === undefined ? [] : [{ text: `POST ${printable(target)}`, drop: 1 }]),
    ...idOf(delivery),
    { text: `attempt ${delivery.attempt}` },
    { text: colors.dim(sayDuration(durationMs)) },
  ]
  const lines = [
    line(pieces, out.columns),
    ...(answer === '' ? [] : [`${INDENT}${colors.dim(`answered: ${answer}`)}`]),
    ...(advice === undefined ? [] : [`${INDENT}${colors.bold(printable(advice))}`]),
  ]
  out.print(
    {
      event: 'answered',
      status,
      delivery: delivery.id,
      attempt: delivery.attempt,
      duration_ms: Math.round(durationMs),
      ...(error && { error }),
    },
    lines.join('\n'),
  )
}
