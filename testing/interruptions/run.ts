import { describeType } from '../../src/internal.js'
import { type DeliveryAttempt, deliverWithRetries } from '../retries/retries.js'
import { isSuccessStatus } from '../retries/retry-schedule.js'
import { createTestClock } from '../retries/test-clock.js'
import { isObject } from './data.js'
import { type Call, describeFault, type Fault } from './faults.js'
import { ProcessLife } from './process-life.js'
import { Processes } from './processes.js'
import type { AnyDelivery, RunContext, RunParts } from './run-parts.js'
import { watchRuntime } from './runtime.js'
import type { Story } from './story.js'

/** The end of a run. */
export interface Ended<World> {
  readonly world: World
  /** The calls of the first process. */
  readonly calls: readonly Call[]
}

const isLife = (owner: unknown): owner is ProcessLife => owner instanceof ProcessLife

/**
 * Prepares a world, starts a process on it, and sends until each delivery has its 2xx. With a fault, the process dies at it, and the next
 * attempt starts another.
 *
 * @throws Error with the story when a delivery has no 2xx within 72 hours, or the call of the fault was never made; whatever `prepare`
 * and `start` throw
 */
export async function run<World extends object, Delivery extends AnyDelivery>(
  { prepare, start, delivery }: RunParts<World, Delivery>,
  story: Story,
  fault?: Fault,
): Promise<Ended<World>> {
  // The real time, because an app may have no other.
  const clock = createTestClock(Date.now())
  const context = { clock, story, fault }
  const world = await prepare({ clock })
  checkWorld(world)
  const unwatch = watchRuntime(isLife)
  try {
    const processes = new Processes(world, start, context)
    try {
      for (const one of await deliveriesOf(delivery, world)) await deliver(one, processes, context)
    } finally {
      await processes.end()
    }
    if (fault !== undefined && !processes.isInterrupted) throw failure(NOT_REACHED, context)
    return { world, calls: processes.calls }
  } catch (error) {
    await dispose(world)
    throw error
  } finally {
    unwatch()
  }
}

async function deliver<World extends object, Delivery extends AnyDelivery>(
  delivery: Delivery,
  processes: Processes<World, Delivery>,
  context: RunContext,
): Promise<void> {
  const { clock, story } = context
  const startMs = clock.now()
  let attempts = 0
  const send = async (signed: Delivery) => {
    attempts += 1
    story.attempt(attempts, (clock.now() - startMs) / 1000)
    return processes.send(signed)
  }
  const last: DeliveryAttempt | undefined = (await deliverWithRetries(send, delivery, { clock })).at(-1)
  if (processes.startError !== undefined) throw processes.startError.error
  if (last?.status !== undefined && isSuccessStatus(last.status)) return
  throw failure(`${NO_SUCCESS}${processes.wasInFlight ? STILL_IN_FLIGHT : ''}`, context)
}

const NO_SUCCESS = 'the delivery was not answered 2xx within 72 hours of retries'
/** A lease is much shorter than the retries, unless it is that of a real server. */
const STILL_IN_FLIGHT =
  '. It was still in_flight: the store holds the claim of the process that died, by its own clock. Make the store in prepare and return it in the world, so that the claim ends in virtual time'
const NOT_REACHED =
  'the process did not make this call this time. A handler must make the same calls in each run: leave out what depends on chance, on the real time, or on an earlier run'

function failure(what: string, { fault, story }: RunContext): Error {
  return new Error(
    `${fault === undefined ? 'Without an interruption' : describeFault(fault)}: ${what}.\n${story}`,
  )
}

function checkWorld(world: unknown): void {
  if (isObject(world) && typeof world !== 'function') return
  throw new TypeError(
    `prepare must return the world, an object of what survives a crash, such as { db, mailer }, not ${describeType(world)}.`,
  )
}

async function deliveriesOf<World extends object, Delivery extends AnyDelivery>(
  given: RunParts<World, Delivery>['delivery'],
  world: World,
): Promise<readonly Delivery[]> {
  const delivery = typeof given === 'function' ? await given(world) : given
  const list = Array.isArray(delivery) ? (delivery as readonly Delivery[]) : [delivery as Delivery]
  if (list.length > 0 && list.every((one) => typeof one?.signAgain === 'function')) return list
  throw new TypeError(
    `delivery must be made by signedDelivery or signedBody, or a list of these, or a function that returns them, not ${describeType(delivery)}.`,
  )
}

/** For a world that nobody gets. */
export async function dispose(world: object): Promise<void> {
  const { [Symbol.asyncDispose]: disposeAsync, [Symbol.dispose]: disposeNow } = world as Partial<
    AsyncDisposable & Disposable
  >
  await (disposeAsync ?? disposeNow)?.call(world)
}
