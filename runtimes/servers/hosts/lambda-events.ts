import type { IncomingMessage } from 'node:http'
import { buffer } from 'node:stream/consumers'

/** The fields of a Lambda's event that the recipe reads. */
export interface HttpEvent {
  headers?: Record<string, string | undefined> | null
  multiValueHeaders?: Record<string, string[] | undefined> | null
  body?: string | null
  isBase64Encoded?: boolean
  httpMethod?: string
  path?: string
  requestContext?: { http?: { method: string; path: string } }
}

/** The event that a gateway makes of a request: a REST API (1), or an HTTP API (2). */
export async function toEvent(request: IncomingMessage, version: 1 | 2): Promise<HttpEvent> {
  const { method = '', url: path = '', rawHeaders } = request
  const bytes = await buffer(request)
  const names = rawHeaders.filter((_, index) => index % 2 === 0)
  // Lower case in version 2; in version 1 as sent, which for most senders is Title-Case.
  const named = names.map((name) => (version === 2 ? name.toLowerCase() : titleCase(name)))
  const headers = Object.fromEntries(named.map((name, index) => [name, rawHeaders[2 * index + 1] ?? '']))
  if (version === 2) {
    const isBase64Encoded = !isText(bytes)
    const body = bytes.toString(isBase64Encoded ? 'base64' : 'utf8')
    return { headers, body, isBase64Encoded, requestContext: { http: { method, path } } }
  }
  // All in base64, as with binaryMediaTypes set to any type.
  const multiValueHeaders = Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, [value]]),
  )
  const body = bytes.length === 0 ? null : bytes.toString('base64')
  return { headers: null, multiValueHeaders, body, isBase64Encoded: true, httpMethod: method, path }
}

function titleCase(name: string): string {
  return name.toLowerCase().replace(/(^|-)[a-z]/g, (letter) => letter.toUpperCase())
}

function isText(bytes: Buffer): boolean {
  return Buffer.from(bytes.toString('utf8')).equals(bytes)
}
