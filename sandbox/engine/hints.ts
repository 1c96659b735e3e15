import { firstWords, quoted } from '../lib/first-words.js'
import { isSuccessStatus } from '../lib/is-success-status.js'
import { messageOf } from '../lib/message-of.js'
import { isParked, outcomeOf } from '../lib/outcome-of.js'
import { checkDestination } from './network/address-rules.js'
import type { SendResult } from './network/send.js'

/** The request that failed. */
export interface Tried {
  readonly url: string
  /** The newest first. */
  readonly secrets: readonly string[]
  readonly timeoutMs: number
  /** Throws if an endpoint cannot have this URL. Default: public addresses are allowed. */
  readonly checkUrl?: (url: string) => void
}

/** The advice for a failure, or for an event that was parked; undefined if there was neither. A secret in the answer is masked. */
export function hintFor(tried: Tried, result: SendResult): string | undefined {
  const hint = hintOf(tried, result)
  return hint === undefined ? undefined : withoutSecrets(hint, tried.secrets)
}

/** Masks secrets in a text that may quote an answer. Those too short to be masked are too short to be secret. */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  return secrets
    .filter((secret) => secret.length > 8)
    .flatMap((secret) => [secret, encodeURIComponent(secret)])
    .reduce((masked, secret) => masked.replaceAll(secret, lastFour(secret)), text)
}

function hintOf(tried: Tried, result: SendResult): string | undefined {
  if (result.error !== undefined) return hintForError(tried, result.error)
  const { status, headers, body } = result.response
  if (isSuccessStatus(status)) return hintForParked(result.response)
  if (status === 400 || status === 401 || status === 403) return hintForRefusal(tried, status, body)
  return hintForStatus(tried, result.response, headers.location)
}

/** The advice for an event that was acknowledged, and not handled; undefined for other answers. */
export function hintForParked(answer: {
  readonly status: number
  readonly body: string
}): string | undefined {
  return isParked(answer)
    ? 'Your receiver parked it: it is not handled, and the service does not retry it. Your log has the cause; once that is fixed, replay it: hooks.replay().'
    : undefined
}

function hintForStatus(
  tried: Tried,
  answer: NonNullable<SendResult['response']>,
  location: string | undefined,
): string {
  const { status, body } = answer
  const { pathname } = new URL(tried.url)
  if (status < 400) return hintForRedirect(tried, location)
  switch (status) {
    case 404:
      return `Nothing is served at ${pathname}: is that the path of your receiver?`
    case 405:
      return `Nothing accepts a POST at ${pathname}: webhooks are POST requests.`
    case 408:
      return 'Your receiver waited for a body that never came: does something else read it first?'
    case 410:
      return 'Your receiver answers that it is gone; the service retries all the same.'
    case 413:
      return 'Your receiver does not accept a body of this size: is the limit of its body parser too low?'
    case 415:
      return 'Your receiver does not accept application/json.'
    case 429:
      return 'Your receiver limits its rate; a Retry-After is respected.'
    case 503:
      return hintForRetry(body)
    default:
      return `Your receiver ${status < 500 ? 'refused it' : 'failed'} with ${status}: ${reasonIn(answer)}.`
  }
}

/** The hint need not send the user to the log if the answer has the error itself. Our receivers answer with an outcome alone. */
function reasonIn(answer: NonNullable<SendResult['response']>): string {
  const words = outcomeOf(answer.body) === undefined ? firstWords(answer) : undefined
  return words === undefined ? 'its log has the reason' : quoted(words)
}

function hintForRedirect({ url, checkUrl = checkAnywhere }: Tried, location: string | undefined): string {
  if (location === undefined || !URL.canParse(location, url)) {
    return "Redirects are not followed: set the endpoint's URL to its target."
  }
  const { href } = new URL(location, url)
  try {
    checkUrl(href)
    return `Redirects are not followed: set the endpoint's URL to ${href}.`
  } catch (refusal) {
    return `Redirects are not followed, and the target of this one cannot be the endpoint's URL. ${messageOf(refusal)}`
  }
}

function checkAnywhere(url: string): void {
  checkDestination(url, { allowPublic: true })
}

/** Outcomes that leave nothing in the receiver's log: retries that a handler requested, and those that are no fault. */
function hintForRetry(body: string): string {
  switch (outcomeOf(body)) {
    case 'retry_later':
      return 'Your handler threw RetryLater: the service retries after the time that it asked for.'
    case 'in_flight':
      return 'Another delivery of the same event is being handled: the service retries.'
    case 'unavailable':
      return 'Your receiver is draining, or could not use its store: then its log has the reason.'
    default:
      return 'Your receiver asks for a retry later: its log has the reason.'
  }
}

/** Our receivers name the step that refused. An empty answer may be any receiver's; any other text is probably not a receiver's. */
function hintForRefusal({ url, secrets }: Tried, status: number, body: string): string {
  const { pathname } = new URL(url)
  const questions = `is its secret the one that ends in ${secrets.map(lastFour).join(' or ')}, does it verify the raw body, and is its clock right?`
  switch (outcomeOf(body)) {
    case 'unauthenticated':
      return `Your receiver refused the signature: ${questions} Its log has the code: signature_mismatch is the secret or the body, timestamp_… the clock.`
    case 'malformed':
      return 'Your receiver found no valid signature header: does a proxy drop it, or does signature.header name another one?'
    case 'incomplete':
      return 'Your receiver did not get the whole body: does a proxy or a timeout cut it off?'
    default:
      return body.trim() === ''
        ? `Your receiver refused it: ${questions}`
        : `${status} from something other than tix-webhooks: does a login, a CSRF check or a proxy stand in front of ${pathname}? If it is a receiver of your own: ${questions}`
  }
}

function hintForError(
  { url, timeoutMs }: Tried,
  { code, message }: NonNullable<SendResult['error']>,
): string {
  const { hostname, port, protocol } = new URL(url)
  const host = `${hostname}:${port || (protocol === 'https:' ? 443 : 80)}`
  switch (code) {
    case 'ECONNREFUSED':
      return `Nothing listens on ${host}: is your receiver running, and is that its port?`
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `The host ${hostname} is unknown: is it spelled right?`
    case 'ECONNRESET':
    case 'EPIPE':
      return `${host} closed the connection without a complete answer: did your receiver crash or restart?`
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
    case 'ETIMEDOUT':
      return `${host} cannot be reached: is that machine up, and is that its address?`
    case 'timeout':
      return `It took over ${timeoutMs / 1000} s: hand long work to a queue, and answer once it is in there. While debugging, allow more: --timeout 10m (timeoutSeconds: 600).`
    case 'broken_off':
      return 'Resend it: the sandbox was reset or closed before the answer arrived.'
    case 'address_refused':
      return `Nothing was sent. ${message}`
    case 'receiver_threw':
      return `A receiver must always return a Response. ${message}`
    case 'HPE_INVALID_CONSTANT':
    case 'EPROTO':
    case 'ERR_SSL_WRONG_VERSION_NUMBER':
      return `${host} does not speak ${protocol === 'https:' ? 'TLS: is it http://?' : 'HTTP: is it https://?'}`
    case 'DEPTH_ZERO_SELF_SIGNED_CERT':
    case 'SELF_SIGNED_CERT_IN_CHAIN':
    case 'UNABLE_TO_VERIFY_LEAF_SIGNATURE':
      return 'Its certificate is not trusted: use http://, or add its authority to NODE_EXTRA_CA_CERTS.'
    case 'HPE_HEADER_OVERFLOW':
      return 'The headers of its answer are larger than 16 KiB.'
    default:
      return `There was no answer (${code}): ${message}`
  }
}

/** A secret is never shown whole. */
function lastFour(secret: string): string {
  return `…${secret.length > 8 ? secret.slice(-4) : ''}`
}
