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

interface Write {
  send(): Promise<unknown>
  resolve(confirmed: Confirmed): void
  reject(error: unknown): void
}

/** Waits, for each write, until enough replicas have it. */
export class Replicas {
  private readonly client: WaitingClient
  private readonly explainedAfterMs: number
  private writes: Write[] = []
  private isWaiting = false
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
   * Sends a write, with WAIT right behind it on the same connection. Redis answers nothing more on the connection until WAIT is over,
   * so writes that arrive meanwhile are sent together after it, with one WAIT behind them all: it covers every write before it.
   */
  confirm(send: () => Promise<unknown>): Promise<Confirmed> {
    return new Promise((resolve, reject) => {
      this.writes.push({ send, resolve, reject })
      if (!this.isWaiting) this.sendWrites()
    })
  }

  private sendWrites(): void {
    const writes = this.writes
    this.writes = []
    this.isWaiting = writes.length > 0
    if (!this.isWaiting) return
    const sent = writes.map(async ({ send }) => send())
    const replicated = this.wait()
    for (const [i, { resolve, reject }] of writes.entries()) {
      Promise.all([sent[i], replicated]).then(
        ([reply, isReplicated]) => resolve({ reply, isReplicated }),
        reject,
      )
    }
    const next = (): void => this.sendWrites()
    replicated.then(next, next)
  }

  private async wait(): Promise<boolean> {
    const isReplicated = Number(await this.client.wait(this.count, this.timeoutMs)) >= this.count
    // Set by a failed call too: it has delayed the others.
    this.isShort = !isReplicated
    return isReplicated
  }

  /**
   * The result of the work, or an error that explains the delay: on one connection each call waits for the WAIT before it.
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
