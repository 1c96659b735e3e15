import type { Bench, Group } from '../support/bench.js'
import { short, spread, whole } from '../support/figures.js'
import { alternate, median, quantile } from '../support/rounds.js'
import { FRAMEWORKS, type Framework, NAMES, type Way } from './contestants.js'
import { type Processes, startProcesses } from './turns.js'

const LATENCY_WAYS: readonly Way[] = ['bare', 'byHand', 'ours']
const SHARES = [0.5, 0.99]

/** The time added to a request, at half the rate that ours can sustain. */
export const latency: Group = {
  id: 'latency',
  async measure(bench) {
    const rows: string[][] = []
    for (const framework of FRAMEWORKS) {
      bench.progress(`latency: ${framework}`)
      const processes = startProcesses(framework, LATENCY_WAYS)
      try {
        rows.push(...(await rowsOf(bench, processes, framework)))
      } finally {
        await processes.close()
      }
    }
    return [
      {
        title: 'Latency at half load',
        columns: ['framework', 'what', 'per second', 'p50, µs', 'added', 'p99, µs', 'added'],
        rows,
        notes: [
          'Half load is half of the requests per second that ours answered just before; all get the same. What is added is the difference to bare, which reads the body and answers, within each round.',
          'Requests are due at random, as from many senders, and sent whether or not the server keeps up. The time is counted from when one was due: a server that stalls is not spared what came meanwhile.',
        ],
      },
    ]
  },
}

async function rowsOf(bench: Bench, processes: Processes, framework: Framework): Promise<string[][]> {
  const flood = { do: 'flood' } as const
  for (const way of LATENCY_WAYS) await processes.turn(way, bench.size(10_000, 100), flood)
  const full = await alternate(bench.size(3, 1), [
    () => processes.turn('ours', bench.size(5_000, 100), flood),
  ])
  const perSecond = Math.round(median((full[0] ?? []).map((turn) => turn.perSecond)) / 2)

  const pace = { do: 'pace', perSecond } as const
  const deliveries = Math.round(perSecond * bench.size(0.5, 0.1))
  const rounds = await alternate(
    bench.size(11, 1),
    LATENCY_WAYS.map((way) => async () => {
      const { latencies } = await processes.turn(way, deliveries, pace)
      return SHARES.map((share) => quantile(latencies, share))
    }),
  )
  const [bare = []] = rounds
  return rounds.map((ofWay, i) => {
    const way = LATENCY_WAYS[i] as Way
    const cells = SHARES.flatMap((_, s) => {
      const figures = ofWay.map((shares) => shares[s] as number)
      const added = figures.map((figure, round) => figure - (bare[round]?.[s] as number))
      return [spread(figures, short), way === 'bare' ? '' : spread(added, signed)]
    })
    return [framework, NAMES[way], whole(perSecond), ...cells]
  })
}

function signed(figure: number): string {
  return `${figure < 0 ? '−' : '+'}${whole(Math.abs(figure))}`
}
