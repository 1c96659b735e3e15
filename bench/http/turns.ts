import { type Child, startChild } from '../support/child.js'
import { type Framework, SENDER_OF, type Way } from './contestants.js'
import type { LoadAnswer, LoadQuestion } from './load.js'
import type { ServerStats } from './server.js'

/** One process that sends, and one for each server: the other servers idle during a measurement. */
export interface Processes {
  /** Sends this many new deliveries, and checks that each was accepted and handled once. */
  turn(way: Way, deliveries: number): Promise<Turn>
  close(): Promise<void>
}

/** The result of a turn. */
export interface Turn {
  readonly perSecond: number
  /** Of the server, for one delivery. */
  readonly cpuMicros: number
}

export const CONNECTIONS = 16

export function startProcesses(framework: Framework, ways: readonly Way[]): Processes {
  const load = startChild(new URL('load.ts', import.meta.url))
  const servers = new Map(
    ways.map((way) => [way, startChild(new URL('server.ts', import.meta.url), [framework, way])]),
  )
  return {
    async turn(way, deliveries) {
      const server = servers.get(way) as Child
      const { port } = await server.ask<ServerStats>('stats')
      const prepare: LoadQuestion = {
        do: 'prepare',
        port,
        sender: SENDER_OF[way],
        deliveries,
        connections: CONNECTIONS,
      }
      await load.ask(prepare)
      const before = await server.ask<ServerStats>('stats')
      const { seconds, statuses } = await load.ask<LoadAnswer>({ do: 'flood' } satisfies LoadQuestion)
      const after = await server.ask<ServerStats>('stats')
      const handled = after.handled - before.handled
      if (statuses[200] !== deliveries || handled !== deliveries) {
        throw new Error(
          `${framework}, ${way}: ${deliveries} deliveries were answered ${JSON.stringify(statuses)}, and ${handled} handled`,
        )
      }
      const serverMicros = after.cpuMicros - before.cpuMicros
      return {
        perSecond: deliveries / seconds,
        cpuMicros: serverMicros / deliveries,
      }
    },
    async close() {
      await Promise.all([load, ...servers.values()].map((child) => child.end()))
    },
  }
}
