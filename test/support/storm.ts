import type { Mark } from './apps/protocol.js'
import type { App, End, Order } from './running-apps.js'

/** The same numbers from 0 to 1 for the same seed (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** How often a sender without pauses retries before a test gives up. */
const TRIES = 5_000

/** Delivers until it is no longer in flight. */
export async function whileInFlight(deliver: () => Promise<End>): Promise<End> {
  for (let i = 0; i < TRIES; i++) {
    const end = await deliver()
    if (typeof end === 'string' || end.outcome !== 'in_flight') return end
  }
  throw new Error(`It was in flight ${TRIES} times`)
}

/** The marks at a COMMIT. Postgres.js commits by itself, and is not stopped while it does. */
export function commitMarks(client: string): Mark[] {
  if (client === 'postgres.js') return ['before COMMIT', 'after COMMIT']
  return ['before COMMIT', 'while COMMIT is under way', 'after COMMIT']
}

export interface StormPlan {
  readonly orders: readonly Order[]
  /** The marks at which the first app of each order is killed before it is done. */
  readonly undone: readonly Mark[]
  /** Further marks for the second app. */
  readonly done: readonly Mark[]
  readonly seed: number
  /** Starts an app that will be killed. */
  start(): Promise<App>
  /** The app that handles the orders left by the others. */
  readonly survivor: App
  /** Called after a kill, before the delivery can run again. */
  afterKill(order: Order): Promise<void>
}

export interface StormReport {
  readonly kills: number
  /** The marks at which deliveries were killed. */
  readonly killedAt: ReadonlySet<Mark>
}

/**
 * Kills app after app at random marks while they handle the orders, and redelivers each order as soon as its app is dead, until
 * it is handled.
 */
export async function storm(plan: StormPlan): Promise<StormReport> {
  const { undone, survivor } = plan
  const random = seeded(plan.seed)
  const pick = (marks: readonly Mark[]): Mark => marks[Math.floor(random() * marks.length)] as Mark
  const killedAt = new Set<Mark>()
  let kills = 0

  /** Several concurrently: while one is killed, others start. */
  const queue = plan.orders.map((order) => ({
    order,
    marks: [pick(undone), pick([...undone, ...plan.done])],
  }))
  async function lane(): Promise<void> {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) await afflict(next)
  }

  async function afflict({ order, marks }: { order: Order; marks: readonly Mark[] }): Promise<void> {
    for (const mark of marks) {
      const app = await plan.start()
      const end = await whileInFlight(() => app.deliver(order, { stopAt: mark }))
      await app.kill()
      if (end !== 'stopped')
        throw new Error(`It did not come to ${mark}, but ended with ${JSON.stringify(end)}`)
      kills += 1
      killedAt.add(mark)
      await plan.afterKill(order)
    }
    const end = await whileInFlight(() => survivor.deliver(order))
    if (typeof end === 'string' || end.status !== 200) throw new Error(`It ended with ${JSON.stringify(end)}`)
  }

  await Promise.all([lane(), lane(), lane()])
  return { kills, killedAt }
}

/** The violations of a storm: orders whose effect is missing, or happened more than once. */
export function violations(
  orders: readonly Order[],
  effects: ReadonlyMap<string, readonly string[]>,
): string[] {
  return orders.flatMap(({ id }) => {
    const count = effects.get(id)?.length ?? 0
    return count === 1 ? [] : [`${id} had ${count} effects`]
  })
}
