import { isSuccessStatus } from '../../testing/retry-schedule.js'
import type { SendResult } from './send.js'

/** What was tried. */
export interface Tried {
  readonly url: string
  /** The newest first. */
  readonly secrets: readonly string[]
  readonly timeoutMs: number
}

/** What to do about a failure, in words; nothing where there is none. */
export function hintFor(tried: Tried, result: SendResult): string | undefined {
  if (result.error !== undefined) return hintForError(tried, result.error.code)
  const { status, headers } = result.response
  if (isSuccessStatus(status)) return undefined
  return hintForStatus(tried, status, headers.location)
}

function hintForStatus({ url, secrets }: Tried, status: number, location: string | undefined): string {
  const { pathname } = new URL(url)
  if (status < 400) {
    const target =
      location !== undefined && URL.canParse(location, url) ? new URL(location, url).href : 'its target'
    return `Redirects are not followed: set the endpoint's URL to ${target}.`
  }
  switch (status) {
    case 400:
    case 401:
    case 403:
      return `Your receiver refused it: is its secret the one that ends in ${secrets.map(lastFour).join(' or ')}, and does it verify the raw body?`
    case 404:
      return `Nothing is served at ${pathname}: is that the path of your receiver?`
    case 405:
      return `Nothing takes a POST at ${pathname}: webhooks are POST requests.`
    case 408:
      return 'Your receiver waited for the body in vain: does something read it before?'
    case 410:
      return 'Your receiver says that it is gone; the service tries again all the same.'
    case 413:
      return 'Your receiver takes no body as large as this: is the limit of its body parser too low?'
    case 415:
      return 'Your receiver does not take application/json.'
    case 429:
      return 'Your receiver asks for less; a Retry-After is waited for.'
    case 503:
      return 'Your receiver asks to be called again later: its log says why.'
    default:
      return status < 500
        ? `Your receiver refused it with ${status}: its log says why.`
        : `Your receiver failed with ${status}: its log says why.`
  }
}

function hintForError({ url, timeoutMs }: Tried, code: string): string {
  const { hostname, port, protocol } = new URL(url)
  const host = `${hostname}:${port || (protocol === 'https:' ? 443 : 80)}`
  switch (code) {
    case 'ECONNREFUSED':
      return `Nothing listens on ${host}: is your receiver running, and is that its port?`
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `The name ${hostname} is not known here: is it spelt right?`
    case 'ECONNRESET':
    case 'EPIPE':
      return `${host} hung up without a whole answer: did your receiver crash, or restart?`
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
    case 'ETIMEDOUT':
      return `${host} cannot be reached from here: is that machine up, and this its address?`
    case 'timeout':
      return `It took over ${timeoutMs / 1000} s: answer first and work later. While you are debugging, give it longer: --timeout 10m (timeoutSeconds: 600).`
    case 'broken_off':
      return 'Send it again: the sandbox was reset or closed meanwhile, so nobody waited for the answer.'
    case 'address_refused':
      return 'The rules about addresses do not allow it: the message says which address, and why.'
    case 'receiver_threw':
      return 'A receiver gives a Response, whatever happens: the message says what it did instead.'
    case 'HPE_INVALID_CONSTANT':
    case 'EPROTO':
    case 'ERR_SSL_WRONG_VERSION_NUMBER':
      return `${host} does not speak ${protocol === 'https:' ? 'TLS: is it http://?' : 'HTTP: is it https://?'}`
    case 'DEPTH_ZERO_SELF_SIGNED_CERT':
    case 'SELF_SIGNED_CERT_IN_CHAIN':
    case 'UNABLE_TO_VERIFY_LEAF_SIGNATURE':
      return 'Its certificate is not trusted here: use http://, or name its authority in NODE_EXTRA_CA_CERTS.'
    case 'HPE_HEADER_OVERFLOW':
      return 'The headers of its answer are larger than 16 KiB.'
    default:
      return `There was no answer (${code}): the message says why.`
  }
}

/** A secret is never shown whole. */
function lastFour(secret: string): string {
  return `…${secret.length > 8 ? secret.slice(-4) : ''}`
}
