import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { httpSender, isSuccessStatus, outcomeOf } from '../../internal.js'
import type { Context } from '../arguments/command.js'
import type { AttemptSummary } from './attempt-summary.js'

/** A server on this machine takes no longer than this. */
const TIMEOUT_MS = 5_000
const LOOPBACK = /^(127\.|::1$)/
/** Errors of an address at which nothing listens, or which this machine does not have. */
const NOTHING = ['ECONNREFUSED', 'EADDRNOTAVAIL', 'EAFNOSUPPORT', 'EHOSTUNREACH', 'ENETUNREACH']

/**
 * Whether a name such as `localhost` leads to two servers of one port, at 127.0.0.1 and at [::1]: then the one that a system tries
 * first answers, which may be another program.
 *
 * One server that listens at both addresses cannot be told from two by its port, so both are sent a request without a signature:
 * they are two if they differ in their status. A receiver refuses it; any other server does not.
 *
 * @returns both of them and their answers, in words; undefined if there is one, or they cannot be told apart. It never rejects
 */
export async function twoServers(url: string, signal: AbortSignal): Promise<string | undefined> {
  const { hostname, port, protocol } = new URL(url)
  const both = await loopbackAddresses(hostname)
  if (both.length !== 2) return undefined
  const ask = async (): Promise<readonly string[]> => {
    const answers: string[] = []
    // One after the other: a server may handle one request at a time.
    for (const address of both) answers.push(await answerAt(address, url, signal))
    return answers
  }
  const answers = await ask()
  if (answers[0] === answers[1] || answers.some((answer) => NOTHING.includes(answer))) return undefined
  // A server that was just starting answers otherwise now.
  if ((await ask()).join() !== answers.join()) return undefined
  const suffix = `:${port || (protocol === 'https:' ? 443 : 80)}`
  const said = both.map((address, index) => `${literal(address)}${suffix} answers ${answers[index]}`)
  return `${hostname}${suffix} is two servers: to a request without a signature ${said.join(', and ')}. Webhooks go to ${literal(both[0] ?? '')}, the first address of ${hostname}. Write ${literal('127.0.0.1')} or ${literal('::1')} in the URL for the one that you mean, or stop the other one.`
}

/** The addresses of a name of this machine, in the order in which they are tried; none of a name that leads elsewhere. */
async function loopbackAddresses(hostname: string): Promise<readonly string[]> {
  if (isIP(hostname.replace(/^\[|\]$/g, '')) !== 0) return []
  const found = (await lookup(hostname, { all: true }).catch(() => [])).map(({ address }) => address)
  if (found.length === 0 || !found.every((address) => LOOPBACK.test(address))) return []
  // A server may take the name for the address that the system does not know by it.
  const others = /(^|\.)localhost$/.test(hostname) ? ['127.0.0.1', '::1'] : []
  return [...new Set([...found, ...others])]
}

const literal = (address: string): string => (address.includes(':') ? `[${address}]` : address)

async function answerAt(address: string, url: string, signal: AbortSignal): Promise<string> {
  const send = httpSender({
    allowPublic: true,
    lookup: (_host, _options, callback) =>
      callback(null, [{ address, family: address.includes(':') ? 6 : 4 }]),
  })
  const { response, error } = await send({
    url,
    headers: { 'content-type': 'application/json', 'user-agent': 'tix-webhooks-check' },
    body: new TextEncoder().encode('{}'),
    timeoutMs: TIMEOUT_MS,
    signal,
  })
  return String(response?.status ?? error?.code)
}

/**
 * Whether the answers are of the servers that were meant, as far as that can be seen; if not, it says so. One of our receivers is known
 * by its answer; of any other 2xx the servers behind the URL are asked.
 */
export async function isOneServer(
  attempts: readonly AttemptSummary[],
  { io, out }: Context,
): Promise<boolean> {
  const urls = new Set(
    attempts
      .filter(({ response }) => response && isForeignSuccess(response.status, response.body))
      .map(({ url }) => url),
  )
  const found = await Promise.all([...urls].map((url) => twoServers(url, io.signal)))
  const faults = found.filter((one) => one !== undefined)
  for (const fault of faults) out.fail(fault)
  return faults.length === 0
}

/** Whether the answer is a 2xx that any server could give, and not one of our receivers. */
export function isForeignSuccess(status: number, body: string): boolean {
  return isSuccessStatus(status) && outcomeOf(body) === undefined
}
