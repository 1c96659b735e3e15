import { createReceiver, Discard, type Outcome, RetryLater, type WebhookOptions } from 'tix-webhooks'
import { expect } from 'vitest'
import { orderCreated, SECRET, sign } from '../deliveries.js'
import { deferred, turns } from '../promises.js'
import { type Attempt, attempted, type Content, type EventModel, PARK_AFTER, type Plan } from './model.js'
import { EVENTS, type EventName, type Step } from './steps.js'
import { Dead, factsOf, Life, seenBy, type World } from './world.js'

/** Ten years, in seconds: no record is forgotten in a history. */
const RETENTION = 3650 * 86_400
const DAY_MS = 86_400_000
const PURGED_AFTER_MS = 30 * DAY_MS
const ANSWERED_AFTER_SECONDS = 0.05

const NAMES: readonly EventName[] = [...EVENTS, 'x']

/** Plays one history on a world and on the model, and compares them after each step. */
export async function play(history: readonly Step[], world: World): Promise<void> {
  const namespace = `model-${crypto.randomUUID().slice(0, 8)}`
  // The failures have the real clock for their purge: the first ones are due after some waiting.
  let now = Date.now() - 45 * DAY_MS
  let count = 0
  let isBroken = false
  let plan: Plan = 'ok'
  let gate: Promise<void> | undefined
  const runs: string[] = []
  const noJson = `{"id": "${namespace}", `
  const events = new Map<EventName, EventModel & { key: string }>()
  for (const name of NAMES) {
    const key = name === 'x' ? await keyOfBytes(noJson) : `${namespace}/order.created/${name}`
    events.set(name, { key, isHandled: false, failure: undefined, runs: 0, effects: 0 })
  }

  async function keyOfBytes(text: string): Promise<string> {
    const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))
    return `${namespace}/sha256:${Buffer.from(digest).toString('hex')}`
  }

  const eventOf = (name: EventName) => events.get(name) as EventModel & { key: string }
  const runsOf = (name: EventName): number => runs.filter((id) => id === name).length
  const effectOf = (name: string): string => `${namespace} ${name}`

  function start(life = new Life(), options: Partial<WebhookOptions> = {}) {
    const reports: unknown[] = []
    const receiver = createReceiver({
      secret: SECRET,
      namespace,
      ...(seenBy(life, world, () => isBroken) as object),
      retentionSeconds: RETENTION,
      parkAfter: PARK_AFTER,
      now: () => now,
      onError: (error: unknown) => reports.push(error),
      on: {
        'order.created': async (event: { data: { order: { id: string } } }, ctx: { tx: unknown }) => {
          const { id } = event.data.order
          if (life.hasDied) throw new Dead()
          runs.push(id)
          await gate
          if (plan === 'fail') throw new Error('broken')
          if (plan === 'retry') throw new RetryLater({ afterSeconds: 60, reason: 'closed' })
          if (plan === 'discard') throw new Discard('no such show')
          if (!life.hasDied) await world.effect(ctx.tx, effectOf(id))
        },
      },
      ...options,
    } as never)
    return { receiver, reports }
  }

  const life = new Life()
  const process = start(life)

  /** The work that goes on after the answer. */
  async function settle(): Promise<void> {
    await turns(2)
    await life.calls()
  }

  /** Each delivery has other bytes. */
  function bodyOf(name: EventName, content: Content): string {
    if (name === 'x') return noJson
    const event = orderCreated({ id: name })
    const data = content === 'valid' ? event.data : { ...event.data, tickets: 'none' }
    return JSON.stringify({ ...event, data, attempt: ++count })
  }

  async function deliver({ receiver }: ReturnType<typeof start>, body: string): Promise<Outcome> {
    const { header, body: bytes } = await sign(body, { now: () => now })
    return receiver.receive({ header, body: bytes, request: null })
  }

  /** The attempt of a new delivery, or of a replay of what is kept. */
  function attemptOf(name: EventName, given: Partial<Attempt> = {}): Attempt {
    const content = name === 'x' ? 'no JSON' : (given.content ?? 'valid')
    return {
      body: bodyOf(name, content),
      plan,
      at: new Date(now),
      isReplay: false,
      isBroken: false,
      ...given,
      content,
    }
  }

  function replayOf(name: EventName): Attempt | undefined {
    const { failure } = eventOf(name)
    return failure && { ...attemptOf(name), body: failure.body, content: failure.content, isReplay: true }
  }

  async function check(): Promise<void> {
    for (const [name, event] of events) {
      const kept = await world.failures.get(event.key)
      const { content: _, ...expected } = event.failure ?? {}
      expect(kept && factsOf(kept), `the failure of ${name}`).toEqual(event.failure && expected)
      if (name !== 'x') {
        expect(await world.records.isHandled(event.key), `${name} is handled`).toBe(event.isHandled)
        expect(runsOf(name), `runs of ${name}`).toBe(event.runs)
      }
    }
    const effects = await world.effects()
    for (const name of EVENTS) {
      expect(
        effects.filter((one) => one === effectOf(name)),
        `effects of ${name}`,
      ).toHaveLength(eventOf(name).effects)
    }
    expect(await world.failures.count({ namespace })).toBe(
      [...events.values()].filter(({ failure }) => failure).length,
    )
  }

  /** Takes over what is true after a crash or a lost call, once the laws are checked that hold whatever was lost. */
  async function adopt(name: EventName, attempt: Attempt, hasDied = false): Promise<void> {
    await world.endLeases()
    const before = eventOf(name)
    const after = { ...before }
    attempted(after, attempt, world)
    // If the call that looks for the failure was lost, the event runs even if it is parked.
    const unasked = { ...before }
    attempted(unasked, { ...attempt, isUnasked: !world.isJoined }, world)
    // If its claim was lost, it is kept without a look at the record.
    const unclaimed = { ...before, isHandled: false }
    if (attempt.content !== 'valid') attempted(unclaimed, attempt, world)
    unclaimed.isHandled = before.isHandled
    const kept = await world.failures.get(before.key)
    const isHandled = await world.records.isHandled(before.key)
    const facts = kept && factsOf(kept)
    // Nothing is between them, but a record of the event whose failure is still there.
    const ends = [before, after, unasked, unclaimed]
    expect(ends.map((end) => end.isHandled)).toContain(isHandled)
    expect(ends.map(({ failure }) => failure && { ...failure, content: undefined })).toContainEqual(facts)
    // With a store it is removed before the completion, once the handler has succeeded.
    const hasSucceeded = runsOf(name) > before.runs && (attempt.plan === 'ok' || attempt.plan === 'discard')
    if (kept === undefined && before.failure !== undefined)
      expect(isHandled || ('store' in world.guard && hasSucceeded)).toBe(true)
    const effects = (await world.effects()).filter((one) => one === effectOf(name)).length
    if (world.isJoined && isHandled) expect(kept).toBeUndefined()
    if ('store' in world.guard && hasDied && isHandled && !before.isHandled) expect(kept).toBeUndefined()
    if ('inbox' in world.guard)
      expect(effects).toBe(isHandled ? Math.max(after.effects, unasked.effects) : before.effects)
    const content =
      facts?.body === attempt.body ? attempt.content : (before.failure?.content ?? attempt.content)
    before.isHandled = isHandled
    before.failure = facts && { ...facts, content }
    before.effects = effects
    before.runs = runsOf(name)
  }

  async function perform(step: Step): Promise<void> {
    switch (step.do) {
      case 'deliver': {
        isBroken = step.isBroken
        plan = step.plan
        const reported = process.reports.length
        const attempt = attemptOf(step.event, { content: step.content, isBroken })
        const expected = attempted(eventOf(step.event), attempt, world)
        expect((await deliver(process, attempt.body)).outcome).toBe(expected)
        if (isBroken && expected !== 'duplicate' && ['failed', 'retry_later'].includes(expected))
          expect(process.reports.slice(reported)).toContainEqual(
            expect.objectContaining({ code: 'not_kept' }),
          )
        await settle()
        isBroken = false
        return
      }
      case 'outlive': {
        plan = step.plan
        const attempt = attemptOf(step.event)
        const slow = start(new Life(), { timeoutSeconds: ANSWERED_AFTER_SECONDS })
        const running = deferred()
        gate = running.promise
        const began = runs.length
        const { outcome } = await deliver(slow, attempt.body)
        running.resolve()
        gate = undefined
        await slow.receiver.drain()
        // On a machine that stalls, the deadline may be over before the run.
        if (outcome === 'unavailable' || (outcome === 'timed_out' && runs.length === began)) {
          return adopt(step.event, attempt)
        }
        const expected = attempted(eventOf(step.event), attempt, world)
        expect(outcome).toBe(runs.length > began ? 'timed_out' : expected)
        return
      }
      case 'crash': {
        plan = step.plan
        const attempt = step.isReplay ? replayOf(step.event) : attemptOf(step.event)
        if (attempt === undefined) return
        const life = new Life(step.at, step.survives)
        const dying = start(life)
        const { key } = eventOf(step.event)
        const ended = step.isReplay ? dying.receiver.replay(key) : deliver(dying, attempt.body)
        // A dead process may go on here for a while, but reaches nothing.
        await Promise.race([ended.catch(() => {}), life.death])
        await life.calls()
        if (step.survives) await dying.receiver.drain()
        if (life.wasCut) return adopt(step.event, attempt, life.hasDied)
        attempted(eventOf(step.event), attempt, world)
        return
      }
      case 'replay': {
        plan = step.plan
        const event = eventOf(step.event)
        const attempt = replayOf(step.event)
        const expected = attempt && attempted(event, attempt, world)
        expect((await process.receiver.replay(event.key))?.outcome).toBe(expected)
        return
      }
      case 'replay all': {
        plan = step.plan
        const kept = [...events]
          .filter(([, { failure }]) => failure && (step.state === undefined || failure.state === step.state))
          .sort(
            ([, one], [, other]) =>
              Number(one.failure?.lastAt) - Number(other.failure?.lastAt) || (one.key < other.key ? -1 : 1),
          )
        const expected = kept.map(([name, event]) => ({
          key: event.key,
          outcome: attempted(event, replayOf(name) as Attempt, world),
        }))
        const replayed = await process.receiver.replay(step.state === undefined ? {} : { state: step.state })
        expect(replayed.map(({ key, outcome }) => ({ key, outcome }))).toEqual(expected)
        return
      }
      case 'race':
        plan = step.plan
        return race(step.event)
      case 'wait':
        now += step.hours * 3_600_000
        return
      case 'delete': {
        const event = eventOf(step.event)
        expect(await world.failures.delete(event.key)).toBe(event.failure !== undefined)
        event.failure = undefined
        return
      }
      case 'purge':
        await world.failures.purge()
        for (const event of events.values()) {
          if (event.failure && event.failure.lastAt.getTime() < Date.now() - PURGED_AFTER_MS)
            event.failure = undefined
        }
    }
  }

  /** One of them runs at a time, unless runs overlap, and a success is the last run. Which of them come after another depends on the backend. */
  async function race(name: EventName): Promise<void> {
    const event = eventOf(name)
    // Of several that cannot be read, one alone may be counted.
    if (event.failure !== undefined && event.failure.content !== 'valid') return
    const live = attemptOf(name)
    // Without a failure, a replay finds that of the delivery, or none.
    const replay: Attempt = replayOf(name) ?? { ...live, isReplay: true }
    const racing = start()
    const [delivered, ...replayed] = await Promise.all([
      deliver(racing, live.body),
      racing.receiver.replay(event.key),
      racing.receiver.replay(event.key),
    ])
    // A failure is kept after the answer if another of them is in its transaction.
    await racing.receiver.drain()
    const ofReplays = replayed.map((one) => one?.outcome)
    const outcomes = [delivered.outcome, ...ofReplays]
    if (outcomes.includes('handled')) {
      expect(outcomes.filter((one) => one === 'handled')).toHaveLength(1)
      attempted(event, { ...live, isReplay: true }, world)
    }
    if (ofReplays.includes('duplicate')) event.failure = undefined
    // The attempt that parks an event has an error; the outcome of another does not.
    const hasRun =
      delivered.outcome === 'failed' || (delivered.outcome === 'parked' && delivered.error !== undefined)
    const failures = ofReplays.filter((one) => one === 'failed').map(() => replay)
    for (const one of hasRun ? [live, ...failures] : failures) attempted(event, one, world)
    if (world.isJoined && world.overlaps === true) event.runs = runsOf(name)
    const kept = await world.failures.get(event.key)
    // In any order: the rest is that of one of them.
    if (kept !== undefined && event.failure !== undefined) {
      const { body } = factsOf(kept)
      expect([live.body, replay.body]).toContain(body)
      event.failure = { ...event.failure, body }
    }
  }

  for (const step of history) {
    now += 1_000
    await perform(step)
    await settle()
    await check()
  }
}
