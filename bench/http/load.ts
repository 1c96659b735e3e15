import { answerQuestions } from '../support/child.js'
import { type Connection, connect } from './connection.js'
import type { Sender } from './contestants.js'
import { deliveriesOf } from './deliveries.js'

/** Signs and connects before the measurement; then sends. */
export type LoadQuestion =
  | {
      readonly do: 'prepare'
      readonly port: number
      readonly sender: Sender
      readonly deliveries: number
      readonly connections: number
    }
  /** As fast as the server answers: each connection sends its next request when it has an answer. */
  | { readonly do: 'flood' }
  /** This many per second, whether or not the server keeps up. */
  | { readonly do: 'pace'; readonly perSecond: number }

export interface LoadAnswer {
  readonly seconds: number
  readonly cpuMicros: number
  /** The number of answers with each status. */
  readonly statuses: Readonly<Record<number, number>>
  /** Microseconds of each delivery, from when it was due: waiting for a connection counts as waiting for the server. */
  readonly latencies: readonly number[]
}

let requests: readonly Buffer[] = []
let connections: readonly Connection[] = []

answerQuestions(async (question: LoadQuestion): Promise<LoadAnswer | undefined> => {
  if (question.do === 'prepare') {
    requests = deliveriesOf(question.sender, question.deliveries)
    connections = await Promise.all(
      Array.from({ length: question.connections }, () => connect(question.port)),
    )
    return undefined
  }
  globalThis.gc?.()
  const statuses: Record<number, number> = {}
  const count = (status: number): void => {
    statuses[status] = (statuses[status] ?? 0) + 1
  }
  const cpuBefore = process.cpuUsage()
  const start = performance.now()
  const latencies = question.do === 'flood' ? await flood(count) : await pace(question.perSecond, count)
  const seconds = (performance.now() - start) / 1000
  const { user, system } = process.cpuUsage(cpuBefore)
  for (const connection of connections) connection.close()
  return { seconds, cpuMicros: user + system, statuses, latencies }
})

async function flood(count: (status: number) => void): Promise<number[]> {
  let next = 0
  const work = (connection: Connection): Promise<void> =>
    new Promise((resolve) => {
      const send = (): void => {
        const request = requests[next++]
        if (request === undefined) resolve()
        else connection.send(request, onAnswer)
      }
      const onAnswer = (status: number): void => {
        count(status)
        send()
      }
      send()
    })
  await Promise.all(connections.map(work))
  return []
}

async function pace(perSecond: number, count: (status: number) => void): Promise<number[]> {
  const dueAt = arrivals(perSecond)
  const latencies: number[] = []
  const idle = [...connections]
  const start = performance.now()
  let next = 0
  while (latencies.length < requests.length) {
    const now = performance.now() - start
    while (idle.length > 0 && (dueAt[next] ?? Infinity) <= now) {
      const [connection, due, request] = [idle.pop(), dueAt[next], requests[next]] as [
        Connection,
        number,
        Buffer,
      ]
      next += 1
      connection.send(request, (status) => {
        count(status)
        latencies.push((performance.now() - start - due) * 1000)
        idle.push(connection)
      })
    }
    // Without a timer, which would be late by up to a millisecond: this process has its own core.
    await new Promise((resolve) => setImmediate(resolve))
  }
  return latencies
}

/** The time when each is due, in milliseconds: random, as from many senders, and the same for every contestant. */
function arrivals(perSecond: number): number[] {
  let seed = 12_345_678
  let at = 0
  return requests.map(() => {
    // The generator of Park and Miller.
    seed = (seed * 48_271) % 2_147_483_647
    at += (-Math.log(seed / 2_147_483_647) * 1000) / perSecond
    return at
  })
}
