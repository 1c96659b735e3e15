import { signedHeaders } from '../../../engine/attempts.js'
import type { Attempt, Delivery } from '../../../engine/record/records.js'
import type { Service } from '../../../service/service.js'
import { HttpError } from '../../errors.js'
import type { CurlView } from '../views.js'

/** A shell passes no argument that is longer than 128 KiB. */
const MAX_ARGUMENT = 100 * 1024

/** Headers that curl writes itself, or that would contradict it. */
const BY_CURL = ['content-length', 'transfer-encoding', 'host', 'connection']

/**
 * The command that sends an attempt from a terminal. It is signed now, so that it is no replay; what a scenario sent goes out exactly as it
 * did.
 *
 * @throws HttpError if the exact body is not kept
 */
export async function curlJson(
  service: Service,
  { message, endpointId }: Delivery,
  attempt: Attempt | undefined,
): Promise<CurlView> {
  if (attempt?.inexact) {
    throw new HttpError(
      'body_not_kept',
      'The sandbox did not keep the exact body of this attempt: send the scenario again.',
    )
  }
  const endpoint = service.engine.endpoint(endpointId)
  const body = attempt?.sentBody ?? message.body
  const url = attempt?.url ?? endpoint?.url ?? ''
  const headers = attempt?.requestHeaders ?? { 'content-type': 'application/json' }
  const isFresh = attempt?.trigger !== 'scenario' && endpoint !== undefined
  if (!isFresh) return { command: commandOf(url, headers, body), fresh: false }
  const signed = await signedHeaders(body, endpoint.secrets, service)
  return { command: commandOf(url, { ...headers, ...signed }, body), fresh: true }
}

function commandOf(url: string, headers: Readonly<Record<string, string>>, body: string): string {
  const given = Object.entries(headers).filter(([name]) => !BY_CURL.includes(name))
  const options = given.map(
    // curl sends none with nothing after the colon, and an empty one with a semicolon.
    ([name, value]) => `-H ${quoted(value === '' ? `${name};` : `${name}: ${value}`)}`,
  )
  const isLong = Buffer.byteLength(body) > MAX_ARGUMENT
  // Not --data, which takes what begins with an @ for a file.
  const data = isLong ? '--data-binary @-' : `--data-raw ${quoted(body)}`
  // -g: brackets and braces of the URL mean nothing to curl.
  const command = ['curl -gi -X POST', ...options, data, quoted(url)].join(' \\\n  ')
  return isLong ? `printf %s ${quoted(body)} | ${command}` : command
}

/** Quotes for a POSIX shell, where only single quotes are special within single quotes. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`
