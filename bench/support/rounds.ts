import { watchOthers } from './others.js'

/** One figure per round. */
export type Figures = readonly number[]

/** Of a time less is better, of a rate more. */
export type Kind = 'time' | 'rate'

/** A figure from all rounds, and the range of the same figure from parts of them. */
export interface Estimate {
  readonly value: number
  readonly least: number
  readonly most: number
}

/** The interleaved parts that the rounds are split into for the spread. */
const PARTS = 4

/** The rounds of the whole run. */
export const tally = {
  kept: 0,
  /** Thrown away and repeated, because other processes kept the machine busy. */
  repeated: 0,
  /** Kept although they were busy: the repeats were used up. */
  busy: 0,
}

export interface RoundOptions {
  /** Called before each contestant, so that none pays for another's garbage. Default: a full collection. */
  readonly before?: () => void
  /** Starts to watch a round, and returns whether it was busy. */
  readonly watch?: () => () => boolean
}

/**
 * Compares contestants: each of them once per round, one after the other, and in every second round in reverse order. The first
 * round is a warm-up. A round in which other processes were busy is repeated; at most half as many as there are rounds.
 */
export async function alternate<Figure>(
  rounds: number,
  contestants: readonly (() => Promise<Figure>)[],
  { before = () => void globalThis.gc?.(), watch = watchOthers }: RoundOptions = {},
): Promise<Figure[][]> {
  const figures = contestants.map((): Figure[] => [])
  const order = contestants.map((measure, i) => ({ measure, i }))

  async function round(): Promise<[i: number, figure: Figure][]> {
    const measured: [number, Figure][] = []
    for (const { measure, i } of order) {
      before()
      measured.push([i, await measure()])
    }
    return measured
  }

  await round()
  let repeats = Math.floor(rounds / 2)
  for (let kept = 0; kept < rounds; ) {
    const wasBusy = watch()
    const measured = await round()
    const isBusy = wasBusy()
    if (isBusy && repeats > 0) {
      repeats--
      tally.repeated++
      continue
    }
    if (isBusy) tally.busy++
    tally.kept++
    kept++
    for (const [i, figure] of measured) figures[i]?.push(figure)
    order.reverse()
  }
  return figures
}

/** The figure that the best tenth of the rounds reach: a disturbance only ever makes a round slower, so the fast ones are true. */
export function undisturbed(figures: Figures, kind: Kind): number {
  return quantile(figures, kind === 'time' ? 0.1 : 0.9)
}

/** Computes a figure from all rounds, and again from every fourth pair of them: the range shows how far to trust it. */
function estimate(all: readonly Figures[], compute: (all: readonly Figures[]) => number): Estimate {
  const parts = Array.from({ length: PARTS }, (_, part) =>
    // In pairs, because every second round is in reverse order.
    all.map((figures) => figures.filter((_, round) => Math.floor(round / 2) % PARTS === part)),
  ).filter((part) => part.every(({ length }) => length > 0))
  const value = compute(all)
  const values = [value, ...parts.map(compute)]
  return { value, least: Math.min(...values), most: Math.max(...values) }
}

/** The undisturbed figure of one contestant. */
export function estimateOf(figures: Figures, kind: Kind): Estimate {
  return estimate([figures], ([only = []]) => undisturbed(only, kind))
}

/** The undisturbed figure of the first, divided by that of the second. */
export function ratioOf(first: Figures, second: Figures, kind: Kind): Estimate {
  return estimate([first, second], ([of = [], to = []]) => undisturbed(of, kind) / undisturbed(to, kind))
}

/** The value that this share of the figures does not exceed, interpolated between two of them. */
export function quantile(figures: Figures, share: number): number {
  const sorted = [...figures].sort((a, b) => a - b)
  const at = share * (sorted.length - 1)
  const [below, above] = [sorted[Math.floor(at)] as number, sorted[Math.ceil(at)] as number]
  return below + (above - below) * (at - Math.floor(at))
}
