import type { Attempt, Delivery, Message, RequestRecord, Sandbox } from '../../index.js'
import { attemptJson, matchesKind, requestJson, retrySchedule, VERSION } from '../../internal.js'
import { sayDuration } from '../arguments/durations.js'
import { envLine, type FoundSecret } from '../send/signing.js'
import { type Output, printable } from '../terminal/output.js'
import { attemptLine, type Hints, hintsOnce } from './attempt-lines.js'
import { timeOfDay } from './clock-lines.js'

/** The placeholder for a key of the user's own, which is never printed. */
const LIVE_KEY = 'sk_live_…'

/** A key that every sandbox without `--keys` accepts. */
const EXAMPLE_KEY = 'sk_test_local'

/** The secret of endpoints that have none of their own yet. */
interface StartSecret extends Pick<FoundSecret, 'secret'> {
  /** The place where it was found; undefined if it is new. */
  readonly from: FoundSecret['from'] | undefined
}

/** The address of the sandbox, and everything needed to use it, including secrets. */
export function printStart(
  { url, clock, endpoints }: Sandbox,
  { out, keys, secret }: { out: Output; keys: readonly string[] | undefined; secret: StartSecret },
): void {
  const { colors } = out
  // A live key is not shown, whatever is done with it here.
  const key = keys === undefined ? EXAMPLE_KEY : (keys.find((one) => one.startsWith('sk_test_')) ?? LIVE_KEY)
  const list = endpoints.list()
  const now = new Date(clock.now()).toISOString()
  const known = secret.from === undefined ? [] : [secret.secret]
  const secrets = list.length === 0 ? known : new Set(list.map(({ secrets: [newest] }) => newest ?? ''))
  const lines = [
    `${colors.bold('tix-webhooks sandbox')} ${VERSION}: nothing real is sold, refunded or mailed`,
    '',
    `  page      ${colors.bold(url)}`,
    `  API       ${colors.bold(`${url}/v2`)}`,
    `  key       ${key}`,
    `  clock     ${now}, ${clock.frozen ? 'frozen' : 'running'}`,
    ...list.map(
      ({ id, url: to, events }) => `  webhooks  ${colors.bold(printable(to))}  ${events.join(',')}  [${id}]`,
    ),
    '',
    ...[...secrets].flatMap((one) => [`  ${envLine(one)}`, `  ${originOf(one, secret, out)}`]),
    '',
    'Next:',
    ...(list.length === 0 ? [`  ${out.program} endpoints add 'http://localhost:3000/hooks'`] : []),
    `  ${out.program} trigger order.created`,
    `  ${out.program} advance 72h`,
    `  curl -H 'authorization: bearer ${key}' ${url}/v2/events`,
    '',
    colors.dim('Stop it with Ctrl-C.'),
    '',
  ]
  out.print(
    {
      event: 'ready',
      version: VERSION,
      url,
      api_url: `${url}/v2`,
      key,
      clock: { now, frozen: clock.frozen },
      endpoints: list,
    },
    lines.join('\n'),
  )
}

/** The origin of a secret, and the advice if the app cannot know it. */
function originOf(secret: string, start: StartSecret, { colors, program }: Output): string {
  if (secret !== start.secret) return colors.dim('This secret is from the state file.')
  if (start.from !== undefined) return colors.dim(`This secret is from ${start.from}.`)
  return colors.bold(`This secret is new: your app needs it. To keep one for both: ${program} secret >> .env`)
}

/** A request to the API, and the error that answered it. */
export function printRequest(request: RequestRecord, out: Output): void {
  const { method, path, status, errorCode: code, note } = request
  const { colors } = out
  const paint = status < 400 ? colors.dim : colors.magenta
  const notes = [code, note].filter((one) => one !== undefined).map((one) => ` ${one}`)
  out.print(
    { event: 'request', ...requestJson(request) },
    `${colors.dim(timeOfDay())} ${paint(`    ${printable(`${method} ${path}`)} ${status}${notes.join(',')}`)}`,
  )
}

/** The options of the log of a sandbox. */
interface LogOptions {
  readonly out: Output
  /** How many attempts a delivery has at most. */
  readonly attempts: number
  readonly sandbox: Sandbox
  readonly hints: Hints
}

/**
 * Prints each message, delivery and attempt as it comes.
 *
 * @param retry the schedule, as `createSandbox` takes it
 * @returns a function that ends it
 */
export function printChanges(sandbox: Sandbox, { out, retry }: { out: Output; retry: string }): () => void {
  const options = { out, attempts: retrySchedule(retry).length + 1, sandbox, hints: hintsOnce() }
  return sandbox.subscribe((change) => {
    if (change.what === 'message') printMessage(change.message, options)
    if (change.what === 'delivery') printDelivery(change.delivery, options)
    if (change.what === 'attempt') printAttempt(change, options)
  })
}

/** Prints a message; as text, only if it has no deliveries, which have lines of their own. */
function printMessage({ id, type, mode, createdAt, body }: Message, { out, sandbox }: LogOptions): void {
  const isTaken = sandbox.endpoints
    .list()
    .some((endpoint) => endpoint.mode === mode && endpoint.events.some((events) => matchesKind(events, type)))
  const record = { event: 'message', id, type, mode, created_at: createdAt, body }
  if (out.json) out.print(record, '')
  else if (!isTaken) out.print(record, `${arrow(type, id, out)} ${out.colors.dim('no endpoint takes it')}`)
}

function printDelivery({ id, message, endpointId, status, reason }: Delivery, { out }: LogOptions): void {
  const record = {
    event: 'delivery',
    id,
    message: message.id,
    type: message.type,
    endpoint: endpointId,
    status,
    reason,
  }
  const stopped = status === 'skipped' ? ` ${out.colors.magenta(`skipped: ${printable(reason ?? '')}`)}` : ''
  // The end of a scenario's delivery shows in its attempts.
  if (out.json || status === 'pending' || status === 'skipped') {
    out.print(record, `${arrow(message.type, id, out)}${stopped}`)
  }
}

function printAttempt(
  { delivery, attempt }: { readonly delivery: Delivery; readonly attempt: Attempt },
  { out, attempts, sandbox, hints }: LogOptions,
): void {
  const { id, message, status, nextAtMs } = delivery
  const tried = delivery.attempts.filter(({ trigger }) => trigger === 'auto').length
  const count = {
    auto: `attempt ${tried}/${attempts}`,
    manual: 'resent by hand',
    // A delivery of chaos has no result of its own: the genuine one follows at once.
    scenario: undefined,
  }[attempt.trigger]
  const isLast = nextAtMs === undefined && status === 'failed' && attempt.trigger === 'auto'
  const retry =
    attempt.trigger !== 'scenario' && nextAtMs !== undefined && status === 'retrying'
      ? `retry in ${sayDuration(nextAtMs - sandbox.clock.now())}`
      : undefined
  out.print(
    {
      event: 'attempt',
      delivery: id,
      message: message.id,
      type: message.type,
      status,
      ...(nextAtMs !== undefined && { next_at: new Date(nextAtMs).toISOString() }),
      attempt: attemptJson(attempt),
    },
    attemptLine(attempt, out, {
      delivery: id,
      time: timeOfDay(),
      count,
      next: isLast ? 'given up' : retry,
      hints,
    }),
  )
}

const arrow = (type: string, id: string, { colors }: Output): string =>
  `${colors.dim(timeOfDay())} ${colors.cyan('-->')} ${printable(type)} [${id}]`
