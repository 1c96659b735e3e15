import type { Bench, Group } from '../support/bench.js'
import { short, spread, times, whole } from '../support/figures.js'
import { type Goal, judged } from '../support/goal.js'
import type { Table } from '../support/report.js'
import { alternate, median, ratios } from '../support/rounds.js'
import { FRAMEWORKS, type Framework, NAMES, WAYS, type Way } from './contestants.js'
import { type Processes, startProcesses, type Turn } from './turns.js'

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
    const rows: string[][] = []
    const all: Turn[] = []
    for (const framework of FRAMEWORKS) {
      bench.progress(`http: ${framework}`)
      const ways = WAYS[framework]
      const processes = startProcesses(framework, ways)
      try {
        const turns = await turnsOf(bench, processes, ways)
        rows.push(...rowsOf(framework, ways, turns))
        all.push(...turns.flat())
      } finally {
        await processes.close()
      }
    }
    return [tableOf(rows, all)]
  },
}

async function turnsOf(bench: Bench, processes: Processes, ways: readonly Way[]): Promise<readonly Turn[][]> {
  const flood = (way: Way, deliveries: number) => () => processes.turn(way, deliveries, { do: 'flood' })
  for (const way of ways) await flood(way, bench.size(10_000, 100))()
  return alternate(
    bench.size(15, 1),
    ways.map((way) => flood(way, bench.size(2_500, 100))),
  )
}

function rowsOf(framework: Framework, ways: readonly Way[], turns: readonly Turn[][]): string[][] {
  const [ours = [], ...others] = turns.map((ofWay) => ofWay.map(({ perSecond }) => perSecond))
  const [ourCpu = [], ...otherCpu] = turns.map((ofWay) => ofWay.map(({ cpuMicros }) => cpuMicros))
  return others.map((theirs, i) => {
    const rate = ratios(ours, theirs)
    const theirCpu = otherCpu[i] ?? []
    const way = ways[i + 1] as Way
    return [
      framework,
      NAMES[way],
      whole(median(ours)),
      whole(median(theirs)),
      spread(rate, times),
      ...(way === 'byHand' ? judged(rate, GOALS[framework]) : ['none', '']),
      short(median(ourCpu)),
      short(median(theirCpu)),
      spread(ratios(ourCpu, theirCpu), times),
    ]
  })
}

function tableOf(rows: readonly string[][], turns: readonly Turn[]): Table {
  const percent = (share: number): string => `${Math.round(share * 100)} %`
  const server = spread(
    turns.map(({ serverBusy }) => serverBusy),
    percent,
  )
  const load = spread(
    turns.map(({ loadBusy }) => loadBusy),
    percent,
  )
  return {
    title: 'Requests per second with everything on: signature, data check, memory store, empty handler',
    columns: [
      'framework',
      'beside',
      'per second',
      'theirs',
      'ratio',
      'goal',
      '',
      'CPU, µs per request',
      'theirs',
      'ratio',
    ],
    rows,
    notes: [
      'By hand verifies as in the documents of every provider, parses, and answers 200 with a small JSON body, as they do and as ours does. It checks no data and deduplicates nothing.',
      'Peers receive signed payloads of their own service, of about the same size; they deduplicate nothing.',
      `Of a core, the servers took ${server}, and the process that sends ${load}: where the first is far below 100 %, the machine was busy with something else.`,
    ],
  }
}
