import { StoreError } from '../../src/index.js'
import { messageOf } from '../../src/internal.js'
import { isOfCertificate } from '../lib/certificate.js'
import { isClusterClient, SUBSCRIBED } from './client.js'

/**
 * What a server says if it is no longer the one to write to, on a connection that it keeps. Not LOADING and NOREPLICAS, which the right one
 * says too, after a restart or without its replicas.
 */
const WRONG_SERVER = /\b(READONLY|MASTERDOWN) /

const FAILING_OVER = 'Redis is starting, failing over or moving slots. Nothing is lost.'
const REDIRECTION = /\b(MOVED|ASK|CROSSSLOT) /

/** Advice on an error of the server or the client, by its message. Redis 5 and 6 put words before that of a script. */
const ADVICE: readonly [says: RegExp, code: 'store_unavailable' | 'store_full', message: string][] = [
  [
    /\bOOM /,
    'store_full',
    'Redis is out of memory (maxmemory) and takes no new events: give it more, or free some. Nothing is lost.',
  ],
  [
    /\bREADONLY /,
    'store_unavailable',
    'This Redis is a read-only replica: connect the client to the primary, or let it follow a failover (Sentinel, Cluster). After one, a single client or a pool opens a new connection, if its retryStrategy or reconnectStrategy returns a number; restart it otherwise.',
  ],
  [
    /\b(NOAUTH|NOPERM|WRONGPASS) |user executing the script can't run/,
    'store_unavailable',
    "Redis refuses this client's user: it needs EVALSHA, EVAL, GET, SET, DEL and PTTL on the keys of the prefix.",
  ],
  [
    /\b(MISCONF|NOREPLICAS) /,
    'store_unavailable',
    'Redis refuses writes: it cannot save its snapshot, or has fewer replicas than it must.',
  ],
  [
    // Before MOVED, because a cluster client gives up after some redirections and passes on the last of them.
    /^Too many Cluster redirections|\b(LOADING|MASTERDOWN|CLUSTERDOWN|TRYAGAIN) /,
    'store_unavailable',
    FAILING_OVER,
  ],
  [REDIRECTION, 'store_unavailable', 'This Redis is a cluster: pass a cluster client.'],
  [
    /WRONGTYPE /,
    'store_unavailable',
    'A key of the prefix holds something other than a record of this store: give the store a prefix of its own.',
  ],
  [
    /\b(subscriber|monitoring) mode\b|SUBSCRIBE .* allowed in this context/,
    'store_unavailable',
    `This Redis client ${SUBSCRIBED}`,
  ],
  [
    /client is closed|^Connection is closed/,
    'store_unavailable',
    'The Redis client is closed: connect it before the app listens, and drain the receiver before you quit it.',
  ],
]

/** A reply of the server: it begins with its kind in capitals, unlike the error of a client or a socket. */
const REPLY = /^[A-Z]{2,} /
const MAX_REPLY_LENGTH = 250
const UNREACHABLE =
  'Redis could not be reached, or gave an invalid answer: is it up, does the client reconnect, and does it trust its certificate? The error event of the client says why.'
const CERTIFICATE =
  'The certificate of Redis could not be verified: give the client that of its authority (ca in the option tls of ioredis, or socket of node-redis), and connect to the host that it names.'

/** The store's error for a call that failed. */
export function unavailable(cause: unknown, client: object): StoreError {
  const words = wordsOf(cause)
  const byDefault = REPLY.test(words) ? refusedWith(words) : isUntrusted(cause) ? CERTIFICATE : UNREACHABLE
  let [, code = 'store_unavailable' as const, message = byDefault] =
    ADVICE.find(([says]) => says.test(words)) ?? []
  if (REDIRECTION.test(words) && isClusterClient(client)) message = FAILING_OVER
  return new StoreError(code, message, { cause })
}

/** The error of fetch, in @upstash/redis, has that of the socket as its cause. */
function isUntrusted(error: unknown): boolean {
  const { code, cause } = (error ?? {}) as { code?: unknown; cause?: { code?: unknown } }
  return isOfCertificate(code ?? cause?.code)
}

/** Without the arguments that a reply may repeat: they are keys and tokens. */
function refusedWith(reply: string): string {
  const [text = ''] = reply.split(', with args beginning', 1)
  return `Redis answered with an error: ${text.slice(0, MAX_REPLY_LENGTH)}. Nothing is lost.`
}

export function isWrongServer(error: unknown): boolean {
  return WRONG_SERVER.test(wordsOf(error))
}

/** Whether the server does not have a script, because it is new or was restarted. */
export function lacksScript(error: unknown): boolean {
  return wordsOf(error).startsWith('NOSCRIPT')
}

/** The words of Redis. @upstash/redis puts others before them, and the command after them, which may hold any word. */
function wordsOf(error: unknown): string {
  return (
    messageOf(error)
      .replace(/^Command (\d+ \[ \w+ \] )?failed: /, '')
      .split(', command was: [', 1)[0] ?? ''
  )
}
