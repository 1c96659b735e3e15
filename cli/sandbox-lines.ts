import { matchesKind } from '../sandbox/engine/kinds.js'
import { retrySchedule } from '../sandbox/engine/schedule.js'
import { attemptJson } from '../sandbox/http/control/delivery-json.js'
import type { Attempt, Delivery, Message, RequestRecord, Sandbox } from '../sandbox/index.js'
import { VERSION } from '../sandbox/version.js'
import { attemptLine } from './attempt-lines.js'
import { sayDuration } from './durations.js'
import { type Output, printable } from './output.js'
import { envLine } from './signing.js'

/** In place of one of those that it was told to take. */
const LIVE_KEY = 'sk_live_…'

/** A key that any sandbox takes, unless it was told which ones to take. */
const EXAMPLE_KEY = 'sk_test_local'

/** Says where the sandbox is, and all that one needs to use it, the secrets included. */
export function tellStart(
  { url, clock, endpoints }: Sandbox,
  { out, keys }: { out: Output; keys: readonly string[] | undefined },
): void {
  const { colors } = out
  // A live key is not shown, whatever is done with it here.
  const key = keys === undefined ? EXAMPLE_KEY : (keys.find((one) => one.startsWith('sk_test_')) ?? LIVE_KEY)
  const list = endpoints.list()
  const now = new Date(clock.now()).toISOString()
  const secrets = [...new Set(list.map(({ secrets: [newest] }) => newest ?? ''))]
  const lines = [
    `${colors.bold('tix-webhooks sandbox')} ${VERSION}: nothing real is sold, refunded or mailed`,
    '',
    `  API       ${colors.bold(`${url}/v2`)}`,
    `  key       ${key}`,
    `  clock     ${now}, ${clock.frozen ? 'frozen' : 'running'}`,
    ...list.map(
      ({ id, url: to, events }) => `  webhooks  ${colors.bold(printable(to))}  ${events.join(',')}  [${id}]`,
    ),
    ...(list.length === 0 ? [] : ['', ...secrets.map((secret) => `  ${envLine(secret)}`)]),
    '',
    'Next:',
    ...(list.length === 0 ? [`  ${out.program} endpoints add 'http://localhost:3000/hooks'`] : []),
    `  ${out.program} trigger order.created`,
    `  ${out.program} advance 72h`,
    `  curl -H 'authorization: bearer ${key}' ${url}/v2/events`,
    '',
    colors.dim('Ctrl-C stops it.'),
    '',
  ]
  out.tell(
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

/** Says what was asked of the API, and which error was the answer. */
export function tellRequest(request: RequestRecord, out: Output): void {
  const { method, path, status, error_code: code, note } = request
  const { colors } = out
  const paint = status < 400 ? colors.dim : colors.yellow
  const notes = [code, note].filter((one) => one !== undefined).map((one) => ` ${one}`)
  out.tell(
    { event: 'request', ...request },
    paint(`    ${printable(`${method} ${path}`)} ${status}${notes.join(',')}`),
  )
}

/** What is said of what happens. */
interface Telling {
  readonly out: Output
  /** How many attempts a delivery has at most. */
  readonly attempts: number
  readonly sandbox: Sandbox
}

/**
 * Says each message, delivery and attempt as it comes.
 *
 * @param retry the schedule, as `createSandbox` takes it
 * @returns what ends it
 */
export function tellChanges(sandbox: Sandbox, { out, retry }: { out: Output; retry: string }): () => void {
  const telling = { out, attempts: retrySchedule(retry).length + 1, sandbox }
  return sandbox.subscribe((change) => {
    if (change.what === 'message') tellMessage(change.message, telling)
    if (change.what === 'delivery') tellDelivery(change.delivery, telling)
    if (change.what === 'attempt') tellAttempt(change, telling)
  })
}

/** To people it is its deliveries that count: the message alone is said where there are none. */
function tellMessage({ id, type, mode, createdAt, body }: Message, { out, sandbox }: Telling): void {
  const isTaken = sandbox.endpoints
    .list()
    .some((endpoint) => endpoint.mode === mode && endpoint.events.some((events) => matchesKind(events, type)))
  const record = { event: 'message', id, type, mode, created_at: createdAt, body }
  if (out.json) out.tell(record, '')
  else if (!isTaken) out.tell(record, `${arrow(type, id, out)} ${out.colors.dim('no endpoint takes it')}`)
}

function tellDelivery({ id, message, endpointId, status, reason }: Delivery, { out }: Telling): void {
  const record = {
    event: 'delivery',
    id,
    message: message.id,
    type: message.type,
    endpoint: endpointId,
    status,
    reason,
  }
  const stopped = status === 'skipped' ? ` ${out.colors.yellow(`skipped: ${printable(reason ?? '')}`)}` : ''
  // How a spoilt one ends can be read from its attempts.
  if (out.json || status === 'pending' || status === 'skipped') {
    out.tell(record, `${arrow(message.type, id, out)}${stopped}`)
  }
}

function tellAttempt(
  { delivery, attempt }: { readonly delivery: Delivery; readonly attempt: Attempt },
  { out, attempts, sandbox }: Telling,
): void {
  const { id, message, status, nextAtMs } = delivery
  const tried = delivery.attempts.filter(({ trigger }) => trigger === 'auto').length
  // What chaos sends first decides nothing: the genuine one follows at once.
  const retry =
    attempt.trigger === 'scenario'
      ? false
      : nextAtMs === undefined
        ? status === 'failed' && attempt.trigger === 'auto' && 'given up'
        : status === 'retrying' &&
          `retry ${tried + 1}/${attempts} in ${sayDuration(nextAtMs - sandbox.clock.now())}`
  out.tell(
    {
      event: 'attempt',
      delivery: id,
      message: message.id,
      type: message.type,
      status,
      ...(nextAtMs !== undefined && { next_at: new Date(nextAtMs).toISOString() }),
      attempt: attemptJson(attempt),
    },
    attemptLine(attempt, out, { delivery: id, ...(retry && { next: retry }) }),
  )
}

const arrow = (type: string, id: string, { colors }: Output): string =>
  `${colors.cyan('-->')} ${colors.bold(printable(type))} [${id}]`
