/** One figure per round. */
export type Figures = readonly number[]

/**
 * Compares contestants: each of them once per round, one after the other, so that a slow phase of the machine affects all of
 * them. Every second round is in reverse order. The first round is a warm-up.
 *
 * @param before called before each, so that none pays for another's garbage
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

/** The ratios of the first to the second, round by round. */
export function ratios(of: Figures, to: Figures): Figures {
  return of.map((figure, i) => figure / (to[i] as number))
}

export function median(figures: Figures): number {
  return quantile(figures, 0.5)
}

/** The value that this share of the figures does not exceed, interpolated between two of them. */
export function quantile(figures: Figures, share: number): number {
  const sorted = [...figures].sort((a, b) => a - b)
  const at = share * (sorted.length - 1)
  const [below, above] = [sorted[Math.floor(at)] as number, sorted[Math.ceil(at)] as number]
  return below + (above - below) * (at - Math.floor(at))
}

export interface Load {
  /** The number of concurrent calls. */
  readonly inFlight: number
  readonly ms: number
}

/** Calls repeatedly for a while, and returns calls per second. */
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

/** Makes this many calls, one after the other, and returns the microseconds of one call. */
export async function timeOf(call: () => Promise<unknown>, times: number): Promise<number> {
  const start = performance.now()
  for (let i = 0; i < times; i++) await call()
  return ((performance.now() - start) / times) * 1000
}
