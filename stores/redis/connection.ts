import { LEAVE_EVERY_MS, monotonicMs, STORE_CALL_MS, within } from '../../src/internal.js'
import { isWrongServer } from './advice.js'
import { isClusterClient, isFunction } from './client.js'

/** Sends a command on a connection of the client, and gives up that connection if the server is the wrong one. */
export type Send<Client> = (command: (connection: Client) => Promise<unknown>) => Promise<unknown>

export function senderOf<Client extends object>(client: Client): Send<Client> {
  const watch = watchSilence()

  async function sendOn(connection: Client, command: Parameters<Send<Client>>[0]): Promise<unknown> {
    const onAnswer = watch(connection)
    try {
      return await command(connection)
    } catch (error) {
      if (isWrongServer(error)) await leave(connection)
      throw error
    } finally {
      onAnswer()
    }
  }

  if (!isPool<Client>(client)) return (command) => sendOn(client, command)
  return (command) => client.execute((connection) => sendOn(connection, command))
}

/** A pool of node-redis, each of whose connections is a client. */
interface RedisPool<Client> {
  execute(work: (connection: Client) => Promise<unknown>): Promise<unknown>
}

function isPool<Client extends object>(client: object): client is RedisPool<Client> {
  return 'clientsInUse' in client && isFunction(client, 'execute')
}

/** What is used of a client of ioredis or node-redis with one connection. */
interface SingleClient {
  readonly status?: unknown
  readonly isReady?: unknown
  readonly options?: {
    readonly retryStrategy?: unknown
    readonly socketTimeout?: unknown
    readonly socket?: { readonly socketTimeout?: unknown; readonly reconnectStrategy?: unknown }
  }
  disconnect(reconnects: boolean): unknown
  sendCommand(command: readonly string[]): Promise<unknown>
  once(event: 'error', listener: () => void): unknown
}

function isIoredis(client: object): boolean {
  return 'status' in client && isFunction(client, 'disconnect')
}

function isNodeRedis(client: object): boolean {
  return 'isReady' in client && isFunction(client, 'sendCommand') && isFunction(client, 'once')
}

const left = new WeakMap<object, { readonly atMs: number; readonly closed: Promise<unknown> }>()

/**
 * Closes a connection, so that the client opens another, as after a lost one. Commands of the app behind ours were refused too if they
 * write; their replies may be lost: ioredis sends them again, node-redis rejects them. Clients that follow a failover by themselves, of a
 * cluster or a Sentinel of node-redis, have several connections.
 */
function leave(client: object): Promise<unknown> | undefined {
  const last = left.get(client)
  if (last !== undefined && monotonicMs() - last.atMs < LEAVE_EVERY_MS) return last.closed
  if (isClusterClient(client) || 'acquire' in client || !reconnects(client)) return undefined
  const closed = isIoredis(client)
    ? Promise.resolve((client as SingleClient).disconnect(true))
    : quit(client as SingleClient)
  left.set(client, { atMs: monotonicMs(), closed })
  return closed
}

/** Whether it would come back. Asked each time, because a strategy may stop when the app shuts down, as each library would ask it. */
function reconnects(client: object): boolean {
  const { options } = client as SingleClient
  if (isIoredis(client)) {
    const strategy = options?.retryStrategy
    return typeof strategy === 'function' && typeof strategy(1) === 'number'
  }
  if (!isNodeRedis(client)) return false
  const strategy = options?.socket?.reconnectStrategy
  if (typeof strategy !== 'function') return strategy !== false
  return typeof strategy(0, new Error('Socket closed unexpectedly')) === 'number'
}

/** As a bare command: the client's own `quit` closes the client too. The server closes the connection, which the client reports as an error. */
function quit(client: SingleClient): Promise<unknown> {
  const closed = new Promise<void>((resolve) => client.once('error', resolve))
  const sent = client.sendCommand(['QUIT']).catch(() => {})
  return within<unknown>(Promise.all([sent, closed]), LEAVE_EVERY_MS, () => {})
}

/**
 * Returns a function that is called with the connection before a command, and returns one to be called at its end. It warns once of a
 * connection that is open and silent, if the client has no limit for that: it may stay so for a quarter of an hour. Without a timer, which
 * each call would pay for: it looks when the next command is sent.
 */
function watchSilence(): (connection: object) => () => void {
  let waiting = 0
  let silentSinceMs = 0
  let hasWarned = false
  return (connection) => {
    const nowMs = monotonicMs()
    if (waiting === 0) silentSinceMs = nowMs
    else if (!hasWarned && nowMs - silentSinceMs > STORE_CALL_MS && mayStaySilent(connection)) {
      hasWarned = true
      console.warn(
        `tix-webhooks: Redis has answered nothing for ${STORE_CALL_MS / 1000} s on a connection that is open, and this client has no socketTimeout. If the connection has gone silent, as when a machine or a firewall vanishes, all deliveries are answered 503 for up to a quarter of an hour: ${isIoredis(connection) ? 'set socketTimeout: 5_000.' : 'use createClientPool with the options in docs/stores.md.'}`,
      )
    }
    waiting++
    return () => {
      waiting--
      silentSinceMs = monotonicMs()
    }
  }
}

function mayStaySilent(client: object): boolean {
  if (isClusterClient(client)) return false
  const { status, isReady, options } = client as SingleClient
  if (isIoredis(client)) return status === 'ready' && !options?.socketTimeout
  return isNodeRedis(client) && isReady === true && !options?.socket?.socketTimeout
}
