import { ConfigurationError } from '../errors.js'
import { shownMessageOf } from '../lib/errors/redact-error.js'
import { callSafely } from '../lib/promises.js'
import { lineOf, pathOf } from './default-log.js'
import type { WebhookOptions } from './options/options.js'
import { answerTo } from './outcome.js'

/** The subpaths of the adapters. */
type HostName = 'express' | 'fastify' | 'hono' | 'fetch' | 'node'

type Host = HostName | 'context'

const NAMES: Readonly<Record<HostName, string>> = {
  express: 'Express',
  fastify: 'Fastify',
  hono: 'Hono',
  fetch: 'a fetch handler',
  node: 'a node:http server',
}

/**
 * There is one for each framework, so this one always throws.
 *
 * @deprecated Import `tixWebhooks` from `tix-webhooks/express`, `/fastify`, `/hono`, `/fetch` or `/node`.
 * @throws TypeError that names the subpaths
 * @example
 * ```ts
 * import { tixWebhooks } from 'tix-webhooks/express'
 * ```
 */
export function tixWebhooks(
  _use: 'import tixWebhooks from tix-webhooks/express, /fastify, /hono, /fetch or /node',
): never {
  throw new TypeError(
    'tixWebhooks depends on the framework: import it from tix-webhooks/express, /fastify, /hono, /fetch (Next, Bun, Deno, Workers) or /node, and not from tix-webhooks.',
  )
}

/** The arguments of any host: each field may be absent, and of any type. */
interface Argument {
  readonly [field: string]: Argument | undefined
}

/**
 * Answers a request from the wrong framework, if the import is of another adapter: 500 through that framework, and a report that names the
 * right import. Adapters call it at the start of each delivery.
 *
 * @param adapter the subpath of the adapter
 * @param args the arguments it was called with
 * @param onError the receiver's option. Default: `console.error`
 * @returns the value to return to the framework; `undefined` if it is the right one
 * @throws TypeError if no known framework called it
 */
export function answerWrongHost<Request>(
  adapter: HostName,
  args: readonly unknown[],
  onError?: WebhookOptions<Request>['onError'],
): { readonly returned: unknown } | undefined {
  const [first, second] = args as [Argument | undefined, Argument | undefined]
  let host: Host | undefined
  try {
    host = hostOf(first, second)
  } catch {
    // A getter that throws: the adapter will meet it too, and handles it.
    return undefined
  }
  // Express's request and response are Node's own.
  if (host === adapter || (host === 'express' && adapter === 'node')) return undefined
  if (host === undefined) throw notItsArguments(adapter)
  const error = new ConfigurationError(`This is tix-webhooks/${adapter}: ${adviceFor(host)}.`)
  const log = (message: string): void =>
    console.error(lineOf(pathOf({ path: () => pathIn(first) }) ?? '', message))
  callSafely(
    () => (onError === undefined ? log(error.message) : onError(error, { request: first as Request })),
    (thrown) => [`onError failed: ${shownMessageOf(thrown)}`, error.message].forEach(log),
  )
  return { returned: answerIn(host, second) }
}

function hostOf(first: Argument | undefined, second: Argument | undefined): Host | undefined {
  if (isFunction(first?.req?.header)) return 'hono'
  if (isFunction(second?.code)) return 'fastify'
  if (isFunction(second?.writeHead)) return first?.originalUrl === undefined ? 'node' : 'express'
  if (isFunction(first?.headers?.get)) return 'fetch'
  return isFunction(first?.request?.headers?.get) ? 'context' : undefined
}

/** Of the request that this framework passes. */
function pathIn(first: Argument | undefined): string | undefined {
  const request = first?.request ?? first?.req ?? first
  const url: unknown = request?.originalUrl ?? request?.url
  return typeof url === 'string' ? url.replace(/^\w+:\/\/[^/]*/, '') : undefined
}

function adviceFor(host: Host): string {
  if (host !== 'context') return `in ${NAMES[host]} import tix-webhooks/${host}`
  return 'pass the Request to tix-webhooks/fetch, as in ({ request }) => hooks(request)'
}

function notItsArguments(adapter: HostName): TypeError {
  return new TypeError(
    adapter === 'fetch'
      ? "The handler takes a Request: in a route the one that the platform passes, in a test delivery.toRequest('/hooks')."
      : `The handler takes the arguments that ${NAMES[adapter]} passes, and was called with others.`,
  )
}

function isFunction(value: unknown): boolean {
  return typeof value === 'function'
}

/** Fields that Fastify's reply and Node's response share, and nothing else has. */
interface Sender {
  readonly headersSent?: boolean
  code(status: number): { headers(headers: object): { send(body: string): unknown } }
  writeHead(status: number, headers: object): { end(body: string): unknown }
}

function answerIn(host: Host, second: unknown): unknown {
  const { status, headers, body } = answerTo({ outcome: 'misconfigured' })
  const sender = second as Sender
  if (host === 'fastify') {
    sender.code(status).headers(headers).send(body)
    return sender
  }
  if (host === 'express' || host === 'node') {
    if (!sender.headersSent) sender.writeHead(status, headers).end(body)
    return undefined
  }
  return new Response(body, { status, headers })
}
