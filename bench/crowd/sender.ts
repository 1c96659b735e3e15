import { setTimeout as sleep } from 'node:timers/promises'
import { type Connection, connect } from '../http/connection.js'
import { HOST } from '../http/contestants.js'
import { deliveriesOf } from '../http/deliveries.js'
import { quantile } from '../support/rounds.js'

/** The measurements of a crowd. Milliseconds count from its arrival, and are not scaled. */
export interface Seen {
  /** How many of the crowd's first attempts were answered 200. */
  readonly handledAtFirst: number
  /** When the last first attempt was answered. */
  readonly answeredMs: number
  /** When half of the crowd was answered 200, and when all of it was. */
  readonly halfHandledMs: number
  readonly handledMs: number
  readonly attempts: number
  /** Ten deliveries of another account. */
  readonly otherAccount: Polled
  /** One statement on the pool. */
  readonly queries: Polled
  readonly health: Polled
}

/** Requests that are sent at regular times. */
export interface Polled {
  readonly sent: number
  readonly failed: number
  readonly slowestMs: number
}

export interface Crowd {
  readonly size: number
  /** All times are divided by it. */
  readonly scale: number
  /** Whether the sender delivers again, as `Retry-After` says, until all are handled. */
  readonly retries: boolean
}

const POLL_EVERY_MS = 500
/** At least. */
const POLLS = 10

/** Sends a crowd of one account at once, and meanwhile what shares the pool with it. */
export async function sendCrowd(port: number, { size, scale, retries }: Crowd): Promise<Seen> {
  const [crowd, others] = [
    deliveriesOf('tix', size, '/hooks/acme'),
    deliveriesOf('tix', POLLS, '/hooks/zenith'),
  ]
  const connections = await Promise.all(crowd.map(() => connect(port)))
  const startMs = performance.now()
  const elapsedMs = (): number => (performance.now() - startMs) * scale
  const delivered = Promise.all(
    connections.map((connection, i) => deliver(connection, crowd[i] as Buffer, retries)),
  )
  let isOver = false

  async function deliver(connection: Connection, request: Buffer, retries: boolean) {
    const first = await send(connection, request)
    const firstMs = elapsedMs()
    let { status, retryAfterMs } = first
    let attempts = 1
    for (; status !== 200 && retries; attempts++) {
      await sleep(retryAfterMs / scale)
      ;({ status, retryAfterMs } = await send(connection, request))
    }
    return { isHandledAtFirst: first.status === 200, firstMs, handledMs: elapsedMs(), attempts }
  }

  async function poll(requests: Iterable<Buffer>): Promise<Polled> {
    const asked: Promise<{ status: number; ms: number }>[] = []
    for (const request of requests) {
      await sleep(POLL_EVERY_MS / scale)
      if (isOver && asked.length >= POLLS) break
      asked.push(ask(request))
    }
    const answers = await Promise.all(asked)
    return {
      sent: answers.length,
      failed: answers.filter(({ status }) => status !== 200).length,
      slowestMs: Math.max(...answers.map(({ ms }) => ms)),
    }
  }

  async function ask(request: Buffer) {
    const connection = await connect(port)
    const sentMs = elapsedMs()
    const { status } = await send(connection, request)
    connection.close()
    return { status, ms: elapsedMs() - sentMs }
  }

  const polled = [others, repeated(get('/query')), repeated(get('/health'))].map(poll)
  const ends = await delivered
  isOver = true
  const [otherAccount, queries, health] = (await Promise.all(polled)) as [Polled, Polled, Polled]
  for (const connection of connections) connection.close()
  return {
    handledAtFirst: ends.filter(({ isHandledAtFirst }) => isHandledAtFirst).length,
    answeredMs: Math.max(...ends.map(({ firstMs }) => firstMs)),
    halfHandledMs: quantile(
      ends.map(({ handledMs }) => handledMs),
      0.5,
    ),
    handledMs: Math.max(...ends.map(({ handledMs }) => handledMs)),
    attempts: ends.reduce((sum, { attempts }) => sum + attempts, 0),
    otherAccount,
    queries,
    health,
  }
}

function send(connection: Connection, request: Buffer): Promise<{ status: number; retryAfterMs: number }> {
  return new Promise((resolve) => {
    connection.send(request, (status, response) => {
      const [, seconds] = /^retry-after: (\d+)/im.exec(response) ?? []
      resolve({ status, retryAfterMs: Number(seconds ?? 5) * 1000 })
    })
  })
}

function get(path: string): Buffer {
  return Buffer.from(`GET ${path} HTTP/1.1\r\nhost: ${HOST}\r\n\r\n`)
}

function* repeated<Item>(item: Item): Generator<Item> {
  for (;;) yield item
}
