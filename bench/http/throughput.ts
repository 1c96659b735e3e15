import type { Bench, Group } from '../support/bench.js'
import { type Comparison, type Measured, rateBeside, timeBeside } from '../support/comparison.js'
import { PROCESSOR_TIME } from '../support/cpu-time.js'
import type { Goal } from '../support/goal.js'
import { alternate } from '../support/rounds.js'
import { FRAMEWORKS, type Framework, NAMES, WAYS, type Way } from './contestants.js'
import { CONNECTIONS, type Processes, startProcesses, type Turn } from './turns.js'

/** Compared with hand-written code. Peers have no goal: they check no data and deduplicate nothing. */
const GOALS: Readonly<Record<Framework, Goal>> = {
  express: { atLeast: 1.2 },
  fastify: { atLeast: 0.95 },
  hono: { atLeast: 0.85 },
}

/** Requests per second of a whole server, compared with the same framework doing less, and with peers. */
export const http: Group = {
  id: 'http',
  async measure(bench) {
    const rates: Comparison[] = []
    const times: Comparison[] = []
    for (const framework of FRAMEWORKS) {
      bench.progress(`http: ${framework}`)
      const ways = WAYS[framework]
      const processes = startProcesses(framework, ways)
      try {
        const turns = await turnsOf(bench, processes, ways)
        rates.push(...compared(framework, ways, turns, 'perSecond'))
        times.push(...compared(framework, ways, turns, 'cpuMicros'))
      } finally {
        await processes.close()
      }
    }
    return [
      {
        title: 'A whole server',
        ratio: 'Its requests per second, to those of others',
        unit: 'requests per second',
        comparisons: rates,
        notes: [
          `Everything on: signature, data check, memory store; an empty handler. ${CONNECTIONS} keep-alive connections of another process.`,
          'By hand verifies as in the documents of every provider, parses, and answers 200 with a small JSON body, as ours does. It checks no data and deduplicates nothing.',
          'Peers receive signed payloads of their own service, of about the same size; they deduplicate nothing.',
        ],
      },
      {
        title: 'A whole server, its processor',
        ratio: 'Processor time of a request, of all threads, to that of others',
        unit: `${PROCESSOR_TIME} of a request`,
        comparisons: times,
      },
    ]
  },
}

async function turnsOf(bench: Bench, processes: Processes, ways: readonly Way[]): Promise<readonly Turn[][]> {
  for (const way of ways) await processes.turn(way, bench.size(4_000, 100))
  return alternate(
    bench.size(24, 1),
    ways.map((way) => () => processes.turn(way, bench.size(1_000, 100))),
  )
}

function compared(
  framework: Framework,
  ways: readonly Way[],
  turns: readonly Turn[][],
  figure: keyof Turn,
): Comparison[] {
  const [ours, ...others] = turns.map(
    (ofWay, i): Measured => ({
      name: `${framework}: ${NAMES[ways[i] as Way]}`,
      figures: ofWay.map((turn) => turn[figure]),
    }),
  ) as [Measured, ...Measured[]]
  return others.map((theirs, i) =>
    figure === 'perSecond'
      ? rateBeside(ours, theirs, ways[i + 1] === 'byHand' ? GOALS[framework] : undefined)
      : timeBeside(ours, theirs),
  )
}
