import { codeOf, wordsOf } from './failure.js'
import type { Received, Reply } from './receiving-server.js'
import { request } from './request.js'

/** What is of one connection alone, and no part of the message. */
const OF_THE_CONNECTION = new Set([
  'connection',
  'content-length',
  'host',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

const BAD_GATEWAY = 502

/** Longer than any sender waits. */
const SILENCE_MS = 10 * 60_000

/** What the receiver answered, or why it did not. */
export interface Forwarded extends Reply {
  readonly error?: { readonly code: string; readonly message: string }
}

/** Passes a request on, its very bytes and headers, and gives the answer as it is. It never rejects. */
export async function forward(received: Received, url: string, signal: AbortSignal): Promise<Forwarded> {
  try {
    const { status, headers, body } = await request({
      method: received.method,
      url,
      headers: passedOn(received.rawHeaders),
      body: received.body,
      signal,
      silenceMs: SILENCE_MS,
    })
    const kept = Object.entries(headers).filter(([name]) => !OF_THE_CONNECTION.has(name))
    return { status, headers: Object.fromEntries(kept), body }
  } catch (error) {
    const code = codeOf(error) ?? 'no_answer'
    const message =
      code === 'ECONNREFUSED' ? `nothing listens at ${url}: is your receiver running?` : wordsOf(error)
    const body = new TextEncoder().encode(JSON.stringify({ error: { code, message } }))
    return {
      status: BAD_GATEWAY,
      headers: { 'content-type': 'application/json' },
      body,
      error: { code, message },
    }
  }
}

/** Repeated headers stay repeated. */
function passedOn(rawHeaders: readonly string[]): Record<string, string[]> {
  const headers: Record<string, string[]> = {}
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = (rawHeaders[index] ?? '').toLowerCase()
    if (OF_THE_CONNECTION.has(name)) continue
    headers[name] = [...(headers[name] ?? []), rawHeaders[index + 1] ?? '']
  }
  return headers
}
