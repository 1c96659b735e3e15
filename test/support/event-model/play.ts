import { createReceiver, Discard, type Outcome, RetryLater } from 'tix-webhooks'
import { expect } from 'vitest'
import { orderCreated, SECRET, sign } from '../deliveries.js'
import { deferred, turns } from '../promises.js'
import {
  type Attempt,
  attempted,
  type Content,
  type EventModel,
  isDone,
  PARK_AFTER,
  type Plan,
} from './model.js'
import { EVENTS, type EventName, type Step } from './steps.js'
import { Dead, knownOf, Life, seenBy, type World } from './world.js'

/** Ten years, in seconds: no record is forgotten in a history. */
const RETENTION = 3650 * 86_400
/** More than a lease. */
const LEASES_END_MS = 2 * 60_000
const ANSWERED_AFTER_SECONDS = 0.05

const NAMES: readonly EventName[] = [...EVENTS, 'x']

/** Plays one history on a world and on the model, and compares them after each step. */
export async function play(history: readonly Step[], world: World): Promise<void> {
  const namespace = `model-${crypto.randomUUID().slice(0, 8)}`
  const { ledger } = 'store' in world.backend ? world.backend.store : world.backend.inbox
  let passed = 0
  let count = 0
  let plan: Plan = 'ok'
  let gate: Promise<void> | undefined
  const runs: string[] = []
  const noJson = `{"id": "${namespace}", `
  const events = new Map<EventName, EventModel & { key: string }>()
  for (const name of NAMES) {
    const key = name === 'x' ? await keyOfBytes(noJson) : `${namespace}/order.created/${name}`
    events.set(name, { key, known: undefined, firstFailedAt: 0, content: 'valid', runs: 0, effects: 0 })
  }

  async function keyOfBytes(text: string): Promise<string> {
    const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))
    return `${namespace}/sha256:${Buffer.from(digest).toString('hex')}`
  }

  const eventOf = (name: EventName) => events.get(name) as EventModel & { key: string }
  const runsOf = (name: EventName): number => runs.filter((id) => id === name).length
  const effectOf = (name: string): string => `${namespace} ${name}`
  const effectsOf = async (name: string): Promise<number> =>
    (await world.effects()).filter((one) => one === effectOf(name)).length

  async function pass(ms: number): Promise<void> {
    passed += ms
    await world.advance(ms)
  }

  function start(life = new Life(), timeoutSeconds?: number) {
    return createReceiver({
      secret: SECRET,
      namespace,
      ...(seenBy(life, world) as object),
      retentionSeconds: RETENTION,
      parkAfter: PARK_AFTER,
      ...(timeoutSeconds === undefined ? {} : { timeoutSeconds }),
      onError: () => {},
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
    } as never)
  }

  const life = new Life()
  const receiver = start(life)

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

  async function deliver(to: typeof receiver, body: string): Promise<Outcome> {
    const { header, body: bytes } = await sign(body)
    return to.receive({ header, body: bytes, request: null } as never)
  }

  function attemptOf(name: EventName, given: Content = 'valid'): Attempt {
    const content = name === 'x' ? 'no JSON' : given
    return { body: bodyOf(name, content), plan, at: passed, isReplay: false, content }
  }

  /** The attempt of a replay of what is kept. */
  function replayOf(name: EventName): Attempt | undefined {
    const { known, content } = eventOf(name)
    if (known?.body === undefined) return undefined
    return { body: known.body, content, plan, at: passed, isReplay: true }
  }

  async function check(): Promise<void> {
    for (const [name, event] of events) {
      expect(knownOf(await ledger.get(event.key)), `what is known of ${name}`).toEqual(event.known)
      if (name === 'x') continue
      expect(runsOf(name), `runs of ${name}`).toBe(event.runs)
      expect(await effectsOf(name), `effects of ${name}`).toBe(event.effects)
    }
    const failing = [...events.values()].filter((event) => event.known && !isDone(event))
    expect(await ledger.count({ namespace })).toBe(failing.length)
  }

  /** Takes over what is true after a crash or a lost call, once the laws are checked that hold whatever was lost. */
  async function adopt(name: EventName, attempt: Attempt): Promise<void> {
    await pass(LEASES_END_MS)
    const event = eventOf(name)
    const after = { ...event }
    attempted(after, attempt)
    const known = knownOf(await ledger.get(event.key))
    // Nothing is between them.
    expect([event.known, after.known]).toContainEqual(known)
    const hasEnded = isDone({ ...event, known }) && !isDone(event)
    const effects = await effectsOf(name)
    const due = event.effects + (hasEnded && attempt.plan === 'ok' ? 1 : 0)
    if ('inbox' in world.backend) expect(effects).toBe(due)
    else expect(effects).toBeGreaterThanOrEqual(due)
    if (known?.body === attempt.body)
      Object.assign(event, { firstFailedAt: after.firstFailedAt, content: after.content })
    Object.assign(event, { known, effects, runs: runsOf(name) })
  }

  async function perform(step: Step): Promise<void> {
    if ('plan' in step) plan = step.plan
    switch (step.do) {
      case 'deliver': {
        const attempt = attemptOf(step.event, step.content)
        const expected = attempted(eventOf(step.event), attempt)
        expect((await deliver(receiver, attempt.body)).outcome).toBe(expected)
        return
      }
      case 'outlive': {
        const attempt = attemptOf(step.event)
        const slow = start(new Life(), ANSWERED_AFTER_SECONDS)
        const running = deferred()
        gate = running.promise
        const began = runs.length
        const { outcome } = await deliver(slow, attempt.body)
        running.resolve()
        gate = undefined
        await slow.drain()
        // On a machine that stalls, the deadline may be over before the run.
        if (outcome === 'unavailable' || (outcome === 'timed_out' && runs.length === began)) {
          return adopt(step.event, attempt)
        }
        const expected = attempted(eventOf(step.event), attempt)
        expect(outcome).toBe(runs.length > began ? 'timed_out' : expected)
        return
      }
      case 'crash': {
        const attempt = step.isReplay ? replayOf(step.event) : attemptOf(step.event)
        if (attempt === undefined) return
        const life = new Life(step.at, step.survives)
        const dying = start(life)
        const ended = step.isReplay ? dying.replay(eventOf(step.event).key) : deliver(dying, attempt.body)
        // A dead process may go on here for a while, but reaches nothing.
        await Promise.race([ended.catch(() => {}), life.death])
        await life.calls()
        if (step.survives) await dying.drain()
        if (life.wasCut) return adopt(step.event, attempt)
        attempted(eventOf(step.event), attempt)
        return
      }
      case 'replay': {
        const attempt = replayOf(step.event)
        const expected = attempt && attempted(eventOf(step.event), attempt)
        expect((await receiver.replay(eventOf(step.event).key))?.outcome).toBe(expected)
        return
      }
      case 'replay all': {
        const expected = NAMES.flatMap((name) => {
          const attempt = replayOf(name)
          if (attempt === undefined) return []
          return [{ key: eventOf(name).key, outcome: attempted(eventOf(name), attempt) }]
        })
        const replayed = await receiver.replay({})
        const inOrder = (all: readonly { key: string; outcome: string }[]) =>
          all.map(({ key, outcome }) => `${key} ${outcome}`).sort()
        expect(inOrder(replayed)).toEqual(inOrder(expected))
        return
      }
      case 'race':
        return race(step.event)
      case 'wait':
        return pass(step.hours * 3_600_000)
      case 'discard': {
        const event = eventOf(step.event)
        const answer = await ledger.discard(event.key, { reason: 'a test order' })
        // It may have been claimed, and nothing more.
        if (event.known === undefined) expect([undefined, 'discarded']).toContain(answer)
        else expect(answer).toBe(isDone(event) ? 'handled' : 'discarded')
        if (answer === 'discarded') event.known = { state: 'discarded' }
        return
      }
      case 'forget': {
        const event = eventOf(step.event)
        const { forget } = 'store' in world.backend ? world.backend.store : world.backend.inbox
        const isKnown = await forget(event.key)
        if (event.known !== undefined) expect(isKnown).toBe(true)
        event.known = undefined
      }
    }
  }

  /** One of them runs at a time, unless runs overlap, and a success is the last run. Which of them come after another depends on the backend. */
  async function race(name: EventName): Promise<void> {
    const event = eventOf(name)
    // Of several that cannot be read, one alone may be counted.
    if (event.known?.body !== undefined && event.content !== 'valid') return
    const live = attemptOf(name)
    // Without a failure, a replay finds that of the delivery, or none.
    const replay: Attempt = replayOf(name) ?? { ...live, isReplay: true }
    const racing = start()
    const [delivered, ...replayed] = await Promise.all([
      deliver(racing, live.body),
      racing.replay(event.key),
      racing.replay(event.key),
    ])
    // A failure is kept after the answer if another of them is in its transaction.
    await racing.drain()
    const outcomes = [delivered.outcome, ...replayed.map((one) => one?.outcome)]
    if (outcomes.includes('handled')) {
      expect(outcomes.filter((one) => one === 'handled')).toHaveLength(1)
      attempted(event, { ...live, isReplay: true })
    }
    // The attempt that parks an event has an error; the outcome of another does not.
    const hasFailed =
      delivered.outcome === 'failed' || (delivered.outcome === 'parked' && delivered.error !== undefined)
    const failures = outcomes
      .slice(1)
      .filter((one) => one === 'failed')
      .map(() => replay)
    for (const one of hasFailed ? [live, ...failures] : failures) attempted(event, one)
    if (world.overlaps === true) event.runs = runsOf(name)
    // In any order: the bytes are those of one of them.
    const known = knownOf(await ledger.get(event.key))
    if (known?.body !== undefined && event.known?.body !== undefined) {
      expect([live.body, replay.body]).toContain(known.body)
      event.known = { ...event.known, body: known.body }
    }
  }

  for (const [index, step] of history.entries()) {
    try {
      await perform(step)
      await settle()
      await check()
    } catch (cause) {
      throw new Error(`step ${index + 1} of the history, ${JSON.stringify(step)}: ${cause}`, { cause })
    }
  }
}
