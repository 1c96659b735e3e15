import { StoreError } from '../../src/index.js'
import { REPLICAS_EXPLAINED_MS, within } from '../../src/internal.js'
import { isClusterClient, isFunction } from './client.js'

interface WaitingClient {
  wait(replicas: number, timeoutMs: number): Promise<unknown>
}

/** Properties that only clients of node-redis with several connections have: its pool, its cluster, its Sentinel. */
const SEVERAL_CONNECTIONS = ['clientsInUse', 'nodeClient', 'acquire']

/** The reply to a write, and whether enough replicas have it. */
interface Confirmed {
  readonly reply: unknown
  readonly isReplicated: boolean
}

/** Waits, for each write, until enough replicas have it. */
export class Replicas {
  private readonly client: WaitingClient
  private readonly explainedAfterMs: number
  /** The WAIT that is about to be sent, for all writes of this turn. */
  private nextWait: Promise<boolean> | undefined
  private waitingCount = 0
  private isShort = false

  /**
   * @param client has one connection, to the primary of all keys: WAIT counts the writes of its own connection
   * @throws TypeError when it has several
   */
  constructor(
    client: object,
    private readonly count: number,
    private readonly timeoutMs: number,
  ) {
    const hasSeveral = SEVERAL_CONNECTIONS.some((name) => name in client)
    if (hasSeveral || isClusterClient(client) || !isFunction(client, 'wait')) {
      throw new TypeError(
        'replicas needs a client with one connection to one primary: WAIT does not cover the writes of a pool, a cluster, a Sentinel client of node-redis or a client of @upstash/redis. Leave replicas out, or pass a single client.',
      )
    }
    this.client = client as WaitingClient
    this.explainedAfterMs = Math.max(REPLICAS_EXPLAINED_MS, timeoutMs)
  }

  /**
   * The reply to a write that was sent just now, and whether replicas have it: WAIT is sent right behind the writes of one turn, and
   * covers those that were sent before it on the same connection. Redis serves one WAIT after the other.
   */
  async confirm(sent: Promise<unknown>): Promise<Confirmed> {
    this.nextWait ??= this.waitSoon()
    const [reply, isReplicated] = await Promise.all([sent, this.nextWait])
    return { reply, isReplicated }
  }

  private async waitSoon(): Promise<boolean> {
    await Promise.resolve()
    this.nextWait = undefined
    return this.wait()
  }

  private async wait(): Promise<boolean> {
    const isReplicated = Number(await this.client.wait(this.count, this.timeoutMs)) >= this.count
    // Set by a failed call too: it has delayed the others.
    this.isShort = !isReplicated
    return isReplicated
  }

  /**
   * The result of the work, or an error that explains the delay: on one connection each call waits for every WAIT before it.
   *
   * @throws StoreError
   */
  explained<T>(work: Promise<T>): Promise<T> {
    this.waitingCount += 1
    const counted = work.finally(() => {
      this.waitingCount -= 1
    })
    return within(counted, this.explainedAfterMs, () => {
      throw this.isShort ? this.tooFew() : this.tooSlow()
    })
  }

  tooFew(): StoreError {
    return new StoreError(
      'store_unavailable',
      `Fewer than ${this.count} replicas had the write after ${this.timeoutMs} ms (replicas, replicaTimeoutMs): are they connected to the primary?${this.queue()}`,
    )
  }

  private tooSlow(): StoreError {
    return new StoreError(
      'store_unavailable',
      `Redis has not answered within ${this.explainedAfterMs} ms: is it up, and does the client reconnect?${this.queue()}`,
    )
  }

  private queue(): string {
    return this.waitingCount > 1 ? ` ${this.waitingCount} calls of the store wait on its one connection.` : ''
  }
}
