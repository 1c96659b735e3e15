/** @module-tag slow */
import fc from 'fast-check'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { AlarmClock } from '../../../src/lib/time/alarm-clock.js'
import { type ReachedLimit, RunSlot, RunSlots } from '../../../src/operation/run-slots.js'
import { deferred, watch } from '../../support/promises.js'
import { runs } from '../../support/runs.js'
import { advance } from '../../support/virtual-time.js'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

const A = { namespace: 'test', account: 'a' }
const TIMES = { timeoutMs: 10_000, maxRunMs: 300_000 }

type Account = string

interface Guest {
  readonly account: Account
  readonly byMs: number
  state: 'waits' | 'runs' | 'refused' | 'over'
  /** Settles at the end of its run. */
  readonly run: ReturnType<typeof deferred<void>>
  /** Work that outlives its run, such as a roll-back. */
  readonly work: ReturnType<typeof deferred<void>> | undefined
  isRunOver: boolean
  isWorkOver: boolean
}

const steps = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      step: fc.constant('arrive' as const),
      account: fc.constantFrom<Account[]>('a', 'a', 'a', 'b', 'c', 'd'),
      /** How much of its time has passed before it asks for a slot. */
      spentMs: fc.constantFrom(0, 0, 0, 2_000, 4_900, 5_000, 7_000),
      hasWork: fc.boolean(),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      step: fc.constantFrom('end its run', 'end its run', 'settle its work'),
      /** Of those that run. */
      which: fc.nat(4),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ step: fc.constant('wait' as const), seconds: fc.constantFrom(0.1, 1, 3, 5) }),
  },
)

test('slots: the limits hold, nobody waits while a slot is free for it, accounts take turns, and all slots are free in the end', async () => {
  const limits = fc.record({
    runs: fc.constantFrom(1, 2, 3, 5, Number.POSITIVE_INFINITY),
    perAccount: fc.constantFrom(1, 2, Number.POSITIVE_INFINITY),
  })
  await fc.assert(
    fc.asyncProperty(limits, fc.array(steps, { maxLength: 60, size: 'max' }), async (limit, plan) => {
      const house = new House(limit)
      for (const step of plan) {
        if (step.step === 'arrive') house.arrive(step)
        else if (step.step === 'wait') await advance(step.seconds)
        else house.end(step.step, step.which)
        await settled()
        house.check()
      }
      while (house.those('runs').length > 0) {
        house.end('end its run', 0)
        house.end('settle its work', 0)
        await settled()
        house.check()
      }
      expect(house.those('waits')).toEqual([])
      for (let i = 0; i < Math.min(limit.runs, limit.perAccount, 9); i++) {
        house.arrive({ account: 'a', spentMs: 0, hasWork: false })
        expect(house.guests.at(-1)?.state).toBe('runs')
      }
      expect(vi.getTimerCount()).toBe(0)
    }),
    { numRuns: runs(150) },
  )
})

test('who finds no slot free gets none if its time has passed, though its alarm is late, or lost with the request of a Worker', async () => {
  const slots = new RunSlots({ runs: 1, perAccount: Number.POSITIVE_INFINITY })
  const take = () => slots.take(A, new AlarmClock(TIMES.timeoutMs), TIMES)
  const running = take() as RunSlot
  const gone = watch(take() as Promise<RunSlot>)
  vi.clearAllTimers()
  await advance(5)
  const waiting = take() as Promise<RunSlot>
  running.free()
  await settled()
  expect(gone.isResolved).toBe(false)
  const next = await waiting
  next.free()
  expect(take()).toBeInstanceOf(RunSlot)
})

/** Until what the last step has caused is done: it takes no time. */
async function settled(): Promise<void> {
  for (let i = 0; i < 8; i++) await undefined
}

/** RunSlots and their guests, with what must hold after each step: one step frees one slot at most. */
class House {
  readonly guests: Guest[] = []
  private readonly slots: RunSlots
  /** For each account that waits, the grants to others that it was passed over for since its last own one. */
  private readonly passedOver = new Map<Account, Account[]>()

  constructor(private readonly limits: { readonly runs: number; readonly perAccount: number }) {
    this.slots = new RunSlots(limits)
  }

  those(state: Guest['state'], ...accounts: Account[]): Guest[] {
    return this.guests.filter(
      (guest) => guest.state === state && (accounts.length === 0 || accounts.includes(guest.account)),
    )
  }

  private isFull(account: Account): boolean {
    const { runs: most, perAccount } = this.limits
    return this.those('runs').length >= most || this.those('runs', account).length >= perAccount
  }

  arrive({ account, spentMs, hasWork }: { account: Account; spentMs: number; hasWork: boolean }): void {
    const clock = new AlarmClock(TIMES.timeoutMs - spentMs)
    const byMs = clock.deadlineMs - TIMES.timeoutMs / 2
    const work = hasWork ? deferred() : undefined
    const run = deferred()
    const guest: Guest = { account, byMs, state: 'waits', run, work, isRunOver: false, isWorkOver: !hasWork }
    const isFull = this.isFull(account)
    this.guests.push(guest)
    const taken = this.slots.take({ namespace: 'test', account }, clock, TIMES)
    if (taken instanceof Promise) void taken.then((slot) => this.seat(guest, slot, clock))
    else this.seat(guest, taken, clock)
    expect(guest.state).toBe(!isFull ? 'runs' : performance.now() < byMs ? 'waits' : 'refused')
  }

  private seat(guest: Guest, slot: RunSlot | ReachedLimit, clock: AlarmClock): void {
    const { account } = guest
    clock.end()
    if (typeof slot === 'string') {
      guest.state = 'refused'
      expect(performance.now()).toBeGreaterThanOrEqual(guest.byMs)
      return
    }
    expect(this.those('waits', account)[0], 'first come, first served').toBe(guest)
    for (const other of new Set(this.those('waits').map((one) => one.account))) {
      if (other === account || this.isFull(other)) continue
      const passed = this.passedOver.get(other) ?? []
      expect(passed, 'accounts take turns').not.toContain(account)
      this.passedOver.set(other, [...passed, account])
    }
    this.passedOver.delete(account)
    guest.state = 'runs'
    slot.keepUntil(guest.run.promise)
    if (guest.work !== undefined) slot.keepUntil(guest.work.promise)
  }

  end(what: 'end its run' | 'settle its work', which: number): void {
    const running = this.those('runs')
    const guest = running[which % running.length]
    if (guest === undefined) return
    if (what === 'settle its work') {
      guest.work?.resolve()
      guest.isWorkOver = true
    } else {
      guest.isRunOver = true
    }
    // Before the next one is seated.
    if (guest.isRunOver && guest.isWorkOver) guest.state = 'over'
    if (what === 'end its run') guest.run.resolve()
  }

  check(): void {
    const accounts: Account[] = ['a', 'b', 'c', 'd']
    const waiting = this.those('waits')
    const found = {
      isOverfull: this.those('runs').length > this.limits.runs,
      tooManyOf: accounts.filter((account) => this.those('runs', account).length > this.limits.perAccount),
      waitForNothing: waiting.filter(({ account }) => !this.isFull(account)),
      waitForTooLong: waiting.filter(({ byMs }) => byMs <= performance.now()),
    }
    expect(found).toEqual({ isOverfull: false, tooManyOf: [], waitForNothing: [], waitForTooLong: [] })
    for (const account of accounts) {
      if (this.those('waits', account).length === 0) this.passedOver.delete(account)
    }
  }
}
