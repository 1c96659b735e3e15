import type {
  EventRecord,
  Inbox,
  KeepResult,
  KeepsFailures,
  OnceRequest,
  OnceResult,
} from '../../src/index.js'
import { deferred, describeValue, isLedger, messageOf } from '../../src/internal.js'
import { aboutOf, failedDelivery } from '../store-cases/steps.js'
import type { InboxHarness } from './harness.js'

const DAY_MS = 24 * 3_600_000
const STATUSES: readonly unknown[] = [
  'handled',
  'discarded',
  'duplicate',
  'in_flight',
  'parked',
] satisfies OnceResult['status'][]

export type End = OnceResult['status'] | 'rejected'

/** The end of a delivery, and the error of one that was rejected. */
interface Ended {
  readonly end: End
  readonly error?: unknown
}

/** The transaction of a delivery, and a write in it. */
export interface Run {
  readonly tx: unknown
  /** What the inbox says; undefined if it says nothing. */
  readonly attempt: number | undefined
  write(effect: string, inner?: unknown): Promise<unknown>
}

export type Work = (run: Run) => unknown

/** One inbox: each delivery is listed if the case fails. */
export interface Receiving {
  readonly inbox: Inbox<unknown>
  /** Calls `once`, and fails the case unless it ends as expected. */
  deliver(
    key: string | null,
    work: Work,
    expected: End | readonly End[],
    terms?: Pick<OnceRequest, 'replay'> & { readonly retainMs?: number },
  ): Promise<Ended>
  /** Of an inbox that is a ledger: keeps a failure of the event, and fails the case unless it returns what is expected. */
  keep(
    event: string,
    expected: KeepResult | readonly KeepResult[],
    given?: Parameters<typeof failedDelivery>[1],
  ): Promise<KeepResult>
  /** The same: fails unless this is what the ledger says, such as `failing 2+1`: the state, the deliveries that failed, and the replays. */
  expectState(event: string, expected: string): Promise<EventRecord | undefined>
  /** Delivers again until the event is handled, as the service does: a connection may have to be made, and a lock to end. */
  deliverUntilDone(event: string, work: Work): Promise<End>
}

/** Makes the deliveries of one case. */
export interface InboxCaseRunner {
  keyOf(event: string): string
  open(connections: number): Promise<Receiving>
  /** Fails unless these effects of the case are committed, each as often as it is listed. */
  expectEffects(...effects: readonly string[]): Promise<void>
  effects(): Promise<string[]>
  /** The work of an event that must not run. */
  readonly mustNotRun: Work
  /** Waits no longer than the case. */
  until<T>(promise: Promise<T>): Promise<T>
  /** @throws Error always */
  fail(message: string): never
  /** Call it when the case is over. */
  end(): void
}

export function createCaseRunner(
  { id, name }: { id: string; name: string },
  harness: InboxHarness<unknown>,
): InboxCaseRunner {
  const namespace = crypto.randomUUID()
  const lines: string[] = []
  const over = deferred<never>()
  over.promise.catch(() => {})
  let failed: Error | undefined
  let opened = 0

  /** The first failure is the one that counts: an inbox may reject with another error because of it. */
  function fail(message: string, cause?: unknown): never {
    const list = lines.map((line, index) => `\n  ${index + 1}. ${line}`).slice(-40)
    failed ??= new Error(`case ${id}: ${message}.\nAn inbox ${name}${list.join('')}`, { cause })
    throw failed
  }

  const keyOf = (event: string): string => `${namespace}${event}`
  const until = <T>(promise: Promise<T>): Promise<T> => Promise.race([promise, over.promise])
  const shown = (text: string): string => describeValue(text.replace(/^(.{9}).{50,}(?=.{3}$)/, '$1…'))

  async function effects(): Promise<string[]> {
    const ids = (await harness.read()).map(String).filter((one) => one.startsWith(`${namespace}/`))
    return ids.map((one) => one.slice(namespace.length + 1)).sort()
  }

  function receiving(inbox: Inbox<unknown>, which: string): Receiving {
    async function deliver(
      event: string | null,
      work: Work,
      expected: End | readonly End[],
      { retainMs = DAY_MS, replay }: { retainMs?: number; replay?: { seen: number } } = {},
    ): Promise<Ended> {
      const key = event === null ? null : keyOf(event)
      const label = `deliver ${event === null ? 'without a key' : shown(event)}${which}`
      const line = lines.push(`${label} → …`) - 1
      let calls = 0
      let isWorking = false
      let end: End
      let error: unknown
      try {
        const about = aboutOf(namespace)
        const request = { key, retainMs, maxRunMs: 60_000, about, ...(replay && { replay }) }
        const result = await inbox.once(request, async (tx, run) => {
          calls++
          isWorking = true
          try {
            await work({
              tx,
              attempt: run?.attempt,
              write: async (effect, inner = tx) => harness.write(inner, `${namespace}/${effect}`),
            })
          } finally {
            isWorking = false
          }
        })
        end = result?.status
        lines[line] = `${label} → ${STATUSES.includes(end) ? end : describeValue(end)}`
      } catch (reason) {
        end = 'rejected'
        error = reason
        lines[line] = `${label} → rejected: ${messageOf(reason)}`
      }
      if (failed !== undefined) throw failed
      if (calls > 1) fail(`${label}: expected one call of its work, but there were ${calls}`)
      const isDone = end === 'handled' || end === 'discarded'
      if (isDone && calls === 0) fail(`${label}: it was ${end}, but its work was not called`)
      if (isDone && isWorking) fail(`${label}: it was ${end}, but its work had not ended`)
      if ([expected].flat().includes(end)) return { end, error }
      return fail(
        `${label}: expected ${[expected].flat().join(' or ')}, but it was ${end === 'rejected' ? `rejected: ${messageOf(error)}` : describeValue(end)}`,
        error,
      )
    }

    async function listed<T>(label: string, ask: (ledger: KeepsFailures) => T | Promise<T>): Promise<T> {
      const line = lines.push(`${label}${which} → …`) - 1
      if (!isLedger(inbox)) return fail(`${label}: this inbox is no ledger`)
      const answer = await ask(inbox)
      lines[line] = `${label}${which} → ${JSON.stringify(answer)}`
      return answer
    }

    return {
      inbox,
      async keep(event, expected, given) {
        const label = `keep a failure of ${shown(event)}`
        const failed = failedDelivery(keyOf(event), { namespace, retainMs: DAY_MS, ...given })
        const answer = await listed(label, (ledger) => ledger.keep(failed))
        if (![expected].flat().includes(answer))
          fail(
            `${label}: expected ${[expected].flat().join(' or ')}, but it returned ${describeValue(answer)}`,
          )
        return answer
      },
      async expectState(event, expected) {
        const label = `state of ${shown(event)}`
        const found = await listed(label, ({ ledger }) => ledger.get(keyOf(event)))
        const { count, replays = 0 } = found?.failure ?? {}
        const counts = count === undefined ? '' : ` ${count}${replays > 0 ? `+${replays}` : ''}`
        const state = `${found?.state ?? 'absent'}${counts}`
        if (state !== expected) fail(`${label}: expected ${expected}, but it is ${state}`)
        return found
      },
      deliver(...delivery) {
        const ended = deliver(...delivery)
        // A case may fail before it awaits it.
        ended.catch(() => {})
        return ended
      },
      async deliverUntilDone(event, work) {
        for (;;) {
          const { end } = await deliver(event, work, ['handled', 'duplicate', 'in_flight', 'rejected'])
          if (end === 'handled' || end === 'duplicate') return end
          await until(turn())
        }
      },
    }
  }

  return {
    keyOf,
    async open(connections) {
      const inbox = await harness.create({ connections })
      if (typeof inbox?.once !== 'function') {
        throw new TypeError(
          "The harness's create() resolved to something without a once function: it must resolve to an Inbox.",
        )
      }
      return receiving(inbox, opened++ === 0 ? '' : ' by another inbox')
    },
    effects,
    async expectEffects(...expected) {
      const found = await effects()
      if (found.join() === [...expected].sort().join()) return
      const list = (all: readonly string[]): string => all.map(describeValue).join(', ') || 'nothing'
      fail(`expected ${list(expected)} to be written, but there is ${list(found)}`)
    },
    mustNotRun: () => fail('the work was called though the event is handled'),
    until,
    fail,
    end: () => over.reject(new Error(`case ${id} is over`)),
  }
}

export function turn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0))
}
