import { isFakeTimer } from '../deliveries/streamed-body.js'
import { context } from './context.js'
import { makeDeadResult, ProcessDied } from './dead-process.js'
import { type Call, type Fault, isAt } from './faults.js'
import { isStore, type Leases } from './leases.js'
import { OpenConnections } from './open-connections.js'
import type { Story } from './story.js'

/** The parameters of each process of a run. */
export interface Parts {
  readonly fault?: Fault | undefined
  readonly leases: Leases
  readonly now: () => number
  readonly story: Story
}

/** One process: its calls of the world, and its death at one of them. */
export class ProcessLife {
  isAlive = true
  /** Returns the result of its calls when it is dead. */
  readonly nowhere: () => never = makeDeadResult()
  /** Whether the call of the fault was made. */
  isInterrupted = false
  readonly calls: Call[] = []
  readonly died: Promise<void>
  private readonly open = new OpenConnections()
  private readonly inFlight = new Set<Promise<unknown>>()
  private readonly times = new Map<string, number>()
  private readonly deaths = new Set<() => void>()
  /** The context of the code that its `close` runs. */
  private readonly closer = {}
  private isClosing = false
  /** Its death, if a call was withheld. */
  private ending: Promise<void> | undefined
  /** Callbacks that a call in flight waits for. */
  private callbacks = 0
  /** Timers that are due soon. */
  private timers = 0
  /** How much has happened in it. */
  private events = 0
  /** The number of calls of the world on the stack: they get the error of a callback that ends. */
  private depth = 0

  constructor(private readonly parts: Parts) {
    this.died = new Promise((resolve) => {
      this.deaths.add(resolve)
    })
  }

  /** Whether a call made now reaches the world: the process lives, or its `close` makes the call. */
  get reachesWorld(): boolean {
    return this.isAlive || this.closes
  }

  /** Whether the call of the fault returns a promise, which the process may or may not wait for. */
  get waits(): boolean {
    return this.parts.fault?.isAsync === true
  }

  private get closes(): boolean {
    const owner = context().getStore()
    return this.isClosing && (owner === this.closer || owner === undefined)
  }

  /** Counts a call, and returns the fault that it is due. */
  begin(
    name: string,
    target: unknown,
  ): { readonly call: Call; readonly kind: Fault['kind'] | undefined } | undefined {
    if (this.isClosing) return undefined
    const nth = (this.times.get(name) ?? 0) + 1
    this.times.set(name, nth)
    const call: Call = {
      number: this.calls.length + 1,
      name,
      nth,
      isOfStore: isStore(target),
      isAsync: false,
    }
    this.calls.push(call)
    this.events += 1
    const kind = !this.isInterrupted && isAt(this.parts.fault, call) ? this.parts.fault?.kind : undefined
    if (kind !== 'dies before') this.parts.story.called(call.number, name)
    if (kind !== undefined) this.isInterrupted = true
    if (kind?.startsWith('rejects')) this.parts.story.note(`${name} ${kind}`)
    return { call, kind }
  }

  /** Runs code of this process. */
  inside<Result>(act: () => Result): Result {
    return context().run(this, act)
  }

  /** Runs code of the world. */
  outside<Result>(act: () => Result): Result {
    this.depth += 1
    try {
      return context().run(undefined, act)
    } finally {
      this.depth -= 1
    }
  }

  /** Notes the promise of a call, so that the next process begins when it has settled. */
  awaits(promise: Promise<unknown>): void {
    const settled = promise
      .catch(() => {})
      .then(() => {
        this.events += 1
        this.inFlight.delete(settled)
      })
    this.inFlight.add(settled)
  }

  /** Notes the result of a call. */
  returned(target: unknown, method: PropertyKey, args: readonly unknown[], result: unknown): void {
    this.open.called(target, method, args)
    this.open.take(result)
    this.parts.leases.returned(target, method, args, result, this.parts.now())
    this.giveUpLate()
  }

  /** Notes an argument of a callback. */
  given(value: unknown): void {
    this.open.take(value, 'release')
    this.giveUpLate()
  }

  /** A call may have been in flight when the process died. */
  private giveUpLate(): void {
    if (!this.reachesWorld) this.open.giveUp()
  }

  onDeath(act: () => void): void {
    if (this.isAlive) this.deaths.add(act)
    else act()
  }

  /** Notes a timer of the process. */
  timer(ms: number): void {
    if (ms >= SOON_MS || areFake) return
    this.timers += 1
    setTimeout(() => {
      this.timers -= 1
    }, ms)
  }

  /** The promise that the world gets from a callback: it rejects when the process dies. */
  untilDeath(result: PromiseLike<unknown>): Promise<unknown> {
    const promise = new Promise((resolve, reject) => {
      const die = (): void => reject(new ProcessDied())
      if (this.isAlive) this.onDeath(die)
      this.callbacks += 1
      const end = (): void => {
        this.callbacks -= 1
        this.deaths.delete(die)
      }
      result.then(
        (value) => {
          end()
          resolve(value)
        },
        (error) => {
          end()
          reject(error)
        },
      )
    })
    promise.catch(() => {})
    return promise
  }

  /** The end of a callback of a dead process: an error for the call that it is in, otherwise a rejection that nobody needs to handle. */
  endCallback(): Promise<never> {
    if (this.depth > 0) throw new ProcessDied()
    const ended = Promise.reject(new ProcessDied())
    ended.catch(() => {})
    return ended
  }

  /**
   * The promise of the call that is not made. The process goes on until nothing happens in it: one that does not wait for the call answers,
   * and then loses it.
   */
  withhold(): Promise<never> {
    this.ending = this.quiet().then(() => this.die())
    return new Promise(() => {})
  }

  /** The process dies at a call. */
  die(): void {
    this.parts.story.note(`the process ${this.parts.fault?.kind} ${this.parts.fault?.name}`)
    this.end()
  }

  /** Nothing of it reaches the world any more. */
  end(): void {
    this.isAlive = false
    for (const act of this.deaths) act()
    this.deaths.clear()
  }

  /** Closes what the process holds, as the operating system does for a dead one. */
  async close(close: (() => unknown) | undefined): Promise<void> {
    await this.open.giveUp()
    this.isClosing = true
    const closed = context().run(this.closer, async () => close?.())
    // What a dying process throws concerns nobody.
    await soon(closed.catch(() => {}))
    await soon(Promise.all(this.inFlight))
    this.isClosing = false
  }

  /** Resolves when the process does nothing any more, or is dead and its last calls have settled. It may have answered before. */
  async idle(): Promise<void> {
    await this.quiet()
    await this.ending
    await soon(Promise.all(this.inFlight))
  }

  /** No call is in flight but those that wait for its own callbacks, no timer is due soon, and there was no call for some turns. */
  private async quiet(): Promise<void> {
    let before = -1
    for (
      let turn = 0, quiet = 0;
      quiet < QUIET_TURNS && turn < SOON_MS && this.isAlive;
      turn += 1, quiet += 1
    ) {
      await aTurn()
      if (this.events !== before || this.inFlight.size > this.callbacks || this.timers > 0) quiet = 0
      before = this.events
    }
  }
}

/** Taken before a test puts a fake clock in, unless that was before this module was loaded. */
const { setTimeout, clearTimeout } = globalThis
const areFake = isFakeTimer(setTimeout)
const SOON_MS = 1000
/** An answer by a socket takes a few. */
const QUIET_TURNS = 20

/** A turn of the event loop, of at least a millisecond if the timers are real. */
function aTurn(): Promise<unknown> {
  return new Promise((resolve) => {
    if (!areFake) return void setTimeout(resolve, 1)
    const { port1, port2 } = new MessageChannel()
    port1.onmessage = () => {
      port1.close()
      resolve(undefined)
    }
    port2.postMessage(undefined)
  })
}

/** Waits for a promise, but not forever: a call may wait for an event that never happens. */
async function soon(promise: Promise<unknown>): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise((resolve) => {
    timer = setTimeout(resolve, SOON_MS)
  })
  await Promise.race([promise, late])
  clearTimeout(timer)
}
