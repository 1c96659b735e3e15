import { randomUUID } from 'node:crypto'
import { lookup } from 'node:dns/promises'
import { BlockList, isIPv6 } from 'node:net'
import { codeOf, messageOf } from '../failure.js'
import type { Received, Reply } from './receiving-server.js'
import { request } from './request.js'

/** Hop-by-hop headers, which are not forwarded. */
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
const LOOP_DETECTED = 508

/** Addresses of this machine, with IPv4 addresses written as IPv6. */
const THIS_MACHINE = new BlockList()
THIS_MACHINE.addAddress('127.0.0.1')
THIS_MACHINE.addAddress('0.0.0.0')

/** Longer than any sender waits. */
const SILENCE_MS = 10 * 60_000

/** The answer of the receiver, or the reason why there is none. */
export interface Forwarded extends Reply {
  readonly error?: { readonly code: string; readonly message: string }
}

/** Passes requests on to a URL, their very bytes and headers, and gives the answers as they are. It never rejects. */
export function forwarder(url: string, signal: AbortSignal): (received: Received) => Promise<Forwarded> {
  // The name of this proxy in `via`, by which a request that loops back is recognized (RFC 9110, section 7.6.3).
  const name = `tix-webhooks-${randomUUID()}`
  return async (received) => {
    const via = received.headers.via
    if (via?.includes(name)) {
      return failed(
        LOOP_DETECTED,
        'loop',
        `${url} leads back to this listener: is --forward-to the URL of your receiver?`,
      )
    }
    try {
      const { status, headers, body } = await request({
        method: received.method,
        url,
        headers: {
          ...passedOn(received.rawHeaders),
          via: via === undefined ? `1.1 ${name}` : `${via}, 1.1 ${name}`,
        },
        body: received.body,
        signal,
        silenceMs: SILENCE_MS,
      })
      const kept = Object.entries(headers).filter(([name]) => !OF_THE_CONNECTION.has(name))
      return { status, headers: Object.fromEntries(kept), body }
    } catch (error) {
      const code = codeOf(error) ?? 'no_answer'
      const isGone = code === 'ECONNREFUSED'
      return failed(
        BAD_GATEWAY,
        code,
        isGone ? `nothing listens at ${url}: is your receiver running?` : messageOf(error),
      )
    }
  }
}

/** Whether a URL is of a server on 127.0.0.1 and this port: what is passed on there would come back without end. */
export async function leadsTo(port: number, url: string): Promise<boolean> {
  const target = new URL(url)
  if (Number(target.port || (target.protocol === 'https:' ? 443 : 80)) !== port) return false
  const addresses = await lookup(target.hostname.replace(/^\[|\]$/g, ''), { all: true }).catch(() => [])
  return addresses.some(({ address }) => THIS_MACHINE.check(address, isIPv6(address) ? 'ipv6' : 'ipv4'))
}

function failed(status: number, code: string, message: string): Forwarded {
  const body = new TextEncoder().encode(JSON.stringify({ error: { code, message } }))
  return { status, headers: { 'content-type': 'application/json' }, body, error: { code, message } }
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
