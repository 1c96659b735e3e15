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

export interface LoadAnswer {
  readonly seconds: number
  /** The number of answers with each status. */
  readonly statuses: Readonly<Record<number, number>>
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
  const start = performance.now()
  await flood(count)
  const seconds = (performance.now() - start) / 1000
  for (const connection of connections) connection.close()
  return { seconds, statuses }
})

async function flood(count: (status: number) => void): Promise<void> {
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
}
