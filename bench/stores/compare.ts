import type { Bench } from '../support/bench.js'
import { rateOf } from '../support/calls.js'
import { type Comparison, rateBeside } from '../support/comparison.js'
import type { Goal } from '../support/goal.js'
import { alternate } from '../support/rounds.js'
import { type Arena, nextKey } from './contender.js'

/** Enough that a server, its client and our code have seen many keys of the kind. */
const WARM_UP = 2_000

/** The goal for each number of concurrent deliveries. */
export type Goals = readonly (readonly [inFlight: number, goal: Goal | undefined])[]

/** New deliveries per second through ours, to those by hand. */
export async function compareRates(
  bench: Bench,
  arena: Arena,
  goals: Goals,
  { ms = 80, where = '' }: { readonly ms?: number; readonly where?: string } = {},
): Promise<Comparison[]> {
  const comparisons: Comparison[] = []
  for (const [inFlight, goal] of goals) {
    bench.progress(`${arena.ours.name}, ${inFlight} in flight`)
    const contestants = [arena.ours, arena.byHand]
    const [ours = [], theirs = []] = await alternate(
      bench.size(16, 1),
      contestants.map(
        ({ deliver }) =>
          () =>
            rateOf(() => deliver(nextKey()), { inFlight, ms: bench.size(ms, 20) }),
      ),
    )
    const [our, their] = contestants.map(({ name }) => name)
    comparisons.push(
      rateBeside(
        { name: `${our}, ${inFlight} in flight${where}`, figures: ours },
        { name: `${their}`, figures: theirs },
        goal,
      ),
    )
  }
  return comparisons
}

/** Delivers many new keys of one kind, so that what follows is not the first of it. */
export async function warmUp(bench: Bench, arena: Arena): Promise<void> {
  for (const { deliver } of [arena.ours, arena.byHand]) {
    for (let n = 0; n < bench.size(WARM_UP, 20); n++) await deliver(nextKey())
  }
}
