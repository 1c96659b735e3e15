import type { AttemptView, DeliveryView, EndpointView } from '../data/views.js'
import { type SignedContent, signNow } from './hmac.js'

/** A shell passes no argument that is longer than 128 KiB. */
const MAX_ARGUMENT = 100 * 1024

/** Headers that curl writes itself, or that would contradict it. */
const BY_CURL = ['content-length', 'transfer-encoding', 'host', 'connection']

export interface Curl {
  readonly command: string
  /** Whether it was signed now, rather than when it was sent. */
  readonly isFresh: boolean
}

/**
 * The command that sends an attempt from a terminal. A genuine one is signed now, so that it is no replay; what was made invalid on
 * purpose goes out exactly as it did.
 */
export async function curlOf(
  delivery: DeliveryView,
  attempt: AttemptView | undefined,
  endpoint: EndpointView | undefined,
  assumed: SignedContent,
): Promise<Curl> {
  const body = attempt?.request.body ?? delivery.body
  const url = attempt?.url ?? delivery.url ?? ''
  const headers = attempt?.request.headers ?? { 'content-type': 'application/json' }
  const fresh =
    attempt?.trigger === 'scenario' ? undefined : await signNow(body, endpoint?.secrets ?? [], assumed)
  return { command: commandOf(url, { ...headers, ...fresh }, body), isFresh: fresh !== undefined }
}

function commandOf(url: string, headers: Readonly<Record<string, string>>, body: string): string {
  const given = Object.entries(headers).filter(([name]) => !BY_CURL.includes(name))
  const options = given.map(
    // curl sends none with nothing after the colon, and an empty one with a semicolon.
    ([name, value]) => `-H ${quoted(value === '' ? `${name};` : `${name}: ${value}`)}`,
  )
  const isLong = new TextEncoder().encode(body).length > MAX_ARGUMENT
  // Not --data, which takes what begins with an @ for a file.
  const data = isLong ? '--data-binary @-' : `--data-raw ${quoted(body)}`
  // -g: brackets and braces of the URL mean nothing to curl.
  const command = ['curl -gi -X POST', ...options, data, quoted(url)].join(' \\\n  ')
  return isLong ? `printf %s ${quoted(body)} | ${command}` : command
}

/** Quotes for a POSIX shell, where only single quotes are special within single quotes. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`
