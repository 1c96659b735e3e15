/** One figure per round. */
export type Figures = readonly number[]

/**
 * Measures contestants against each other: in each round each of them once, one after the other, so that what slows the
 * machine down for a while slows down all of them. Every second round goes backwards. The first round is for warming up.
 *
 * @param before what is done before each, so that none pays for another's garbage
 */
export async function alternate<Figure>(
  rounds: number,
  contestants: readonly (() => Promise<Figure>)[],
  before: () => void = () => void globalThis.gc?.(),
): Promise<Figure[][]> {
  const figures = contestants.map((): Figure[] => [])
  const order = contestants.map((measure, i) => ({ measure, i }))
  for (let round = 0; round <= rounds; round++) {
    for (const { measure, i } of order) {
      before()
      const figure = await measure()
      if (round > 0) figures[i]?.push(figure)
    }
    order.reverse()
  }
  return figures
}

/** How the first compares with the second, round by round. */
export function ratios(of: Figures, to: Figures): Figures {
  return of.map((figure, i) => figure / (to[i] as number))
}

export function median(figures: Figures): number {
  return quantile(figures, 0.5)
}

/** The figure that so much of them do not exceed; between two of them, what lies between. */
export function quantile(figures: Figures, share: number): number {
  const sorted = [...figures].sort((a, b) => a - b)
  const at = share * (sorted.length - 1)
  const [below, above] = [sorted[Math.floor(at)] as number, sorted[Math.ceil(at)] as number]
  return below + (above - below) * (at - Math.floor(at))
}

export interface Load {
  /** How many calls are under way at once. */
  readonly inFlight: number
  readonly ms: number
}

/** Calls again and again for a while, and gives calls per second. */
export async function rateOf(call: () => Promise<unknown>, { inFlight, ms }: Load): Promise<number> {
  const start = performance.now()
  const end = start + ms
  let calls = 0
  async function work(): Promise<void> {
    while (performance.now() < end) {
      await call()
      calls++
    }
  }
  await Promise.all(Array.from({ length: inFlight }, work))
  return (calls / (performance.now() - start)) * 1000
}

/** Calls so many times, one after the other, and gives the microseconds of one call. */
export async function timeOf(call: () => Promise<unknown>, times: number): Promise<number> {
  const start = performance.now()
  for (let i = 0; i < times; i++) await call()
  return ((performance.now() - start) / times) * 1000
}
