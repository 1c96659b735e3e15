import { checkOptionNames, describeType, describeValue } from '../../src/internal.js'
import { type Call, describeFault, type Fault, type FaultKind } from './faults.js'
import { dispose, run } from './run.js'
import type { AnyDelivery, RunParts } from './run-parts.js'
import { Story } from './story.js'

export interface InterruptionOptions<World extends object, Delivery extends AnyDelivery = AnyDelivery>
  extends RunParts<World, Delivery> {
  /** `rejects` adds runs in which a call fails instead, without or after its effect, and the process lives on. Default: none. */
  also?: 'rejects' | undefined
}

/** One interruption of a handler. */
export interface Interruption<World extends object> {
  /** Such as `dies after mailer.send (call 3)`. */
  readonly name: string
  /**
   * Prepares a new world, and delivers to a process that is interrupted in this way. Resolves to the world once a process has answered
   * 2xx.
   *
   * @throws Error with the story when there is no 2xx within 72 hours, or the process does not make the call this time; whatever
   * `prepare` and `start` throw
   */
  run(): Promise<World>
  /** Describes the last run, for the message of an assertion: the attempts, their calls, the death and the answers. */
  story(): string
}

const OPTION_NAMES: readonly (keyof InterruptionOptions<object>)[] = ['prepare', 'start', 'delivery', 'also']

/**
 * Interrupts your handler at each of its calls of the outside world: the process dies just before or just after the call, a new one
 * starts, and the service retries. Then look at the world: is each effect there once?
 *
 * A first run without an interruption counts the calls: those of functions of the world's members, and of what these return, such as a
 * statement or a transaction. A dead process makes no further call, its timers end, its `close` is called, and its transactions are
 * rolled back. Time is virtual: the lease of a store in the world, and three days of retries, take none.
 *
 * A process that dies before a call that returns a promise may answer first, if it does not wait for the call: a delivery that was
 * answered 2xx is not sent again. Timers of less than a second are waited for.
 *
 * The world may have a `Symbol.asyncDispose`: it is called for a world that you do not get, such as that of the first run.
 *
 * @param options `prepare` makes a new world, an object of what survives a crash: a database, a mailer, a store. `start` makes a process
 * that uses this world alone. `delivery` is delivered to it; a list one after the other
 * @returns an interruption before each call and one after it, in the order of the calls
 * @throws TypeError when an option is invalid, or the handler calls nothing of the world; Error when the first run gets no 2xx
 * @example
 * ```ts
 * import { tixWebhooks } from 'tix-webhooks/fetch'
 * import { interruptions, signedDelivery } from 'tix-webhooks/testing'
 *
 * const secret = 'whsec_test'
 * const all = await interruptions({
 *   prepare: () => {
 *     const rows = new Map<string, number>()
 *     return { rows, db: { upsert: async (id: string, cents: number) => void rows.set(id, cents) } }
 *   },
 *   start: ({ db }, { now }) =>
 *     tixWebhooks({ secret, now, on: { 'order.created': ({ data }) => db.upsert(data.order.id, data.order.total_cents) } }),
 *   delivery: await signedDelivery('order.created', { secret }),
 * })
 *
 * for (const { name, run } of all) {
 *   const { rows } = await run()
 *   console.assert(rows.size === 1, name)
 * }
 * ```
 */
export async function interruptions<World extends object, Delivery extends AnyDelivery>(
  options: InterruptionOptions<World, Delivery>,
): Promise<readonly Interruption<World>[]> {
  options = checkOptionNames(options, OPTION_NAMES)
  checkOptions({ ...options })
  const { world, calls } = await run(options, new Story())
  await dispose(world)
  if (calls.every(({ isOfStore }) => isOfStore)) {
    throw new TypeError(
      `The handler called nothing in the world${calls.length > 0 ? ' but its store' : ''}, so there is nothing to interrupt: use the members of the world that start is given, not those that prepare has made.`,
    )
  }
  return calls.flatMap((call) =>
    kindsOf(call, options.also).map((kind) => interruption(options, { ...call, kind })),
  )
}

function interruption<World extends object, Delivery extends AnyDelivery>(
  parts: RunParts<World, Delivery>,
  fault: Fault,
): Interruption<World> {
  let story = new Story()
  return {
    name: describeFault(fault),
    async run() {
      story = new Story()
      const { world } = await run(parts, story, fault)
      return world
    },
    story: () => String(story),
  }
}

function kindsOf({ isAsync }: Call, also: unknown): readonly FaultKind[] {
  const rejects =
    also === 'rejects' && isAsync ? (['rejects without effect', 'rejects after its effect'] as const) : []
  return ['dies before', 'dies after', ...rejects]
}

function checkOptions({ prepare, start, also }: Partial<Record<string, unknown>>): void {
  for (const [name, given] of Object.entries({ prepare, start })) {
    if (typeof given !== 'function')
      throw new TypeError(`${name} must be a function, not ${describeType(given)}.`)
  }
  if (also !== undefined && also !== 'rejects') {
    throw new TypeError(`also must be "rejects", or left out, not ${describeValue(also)}.`)
  }
}
