import type {
  EventFilter,
  EventGroup,
  EventQuery,
  EventRecord,
  FailedDelivery,
  LedgerStore,
} from '../../src/index.js'
import { describeAnswer } from '../store-cases/answers.js'
import type { StoreCaseRunner } from '../store-cases/case-runner.js'
import { createStoreModel, type StoreModel } from '../store-cases/model.js'
import { casesIn, failedDelivery, newSubject, stepsOf } from '../store-cases/steps.js'
import { casesOf, type StoreCase, type StoreHarness } from '../store-cases/store-case.js'
import { differences } from './differences.js'

/**
 * The ledger under test: how to create clients of its backend, and how to make time pass for it. It is the harness of `storeCases` too.
 *
 * @example
 * ```ts
 * import { memoryStore } from 'tix-webhooks'
 * import type { LedgerHarness } from 'tix-webhooks/testing'
 *
 * let now = 0
 * export const harness: LedgerHarness = {
 *   create: async () => memoryStore({ now: () => now }),
 *   advance: async (ms) => {
 *     now += ms
 *   },
 * }
 * ```
 */
export interface LedgerHarness extends StoreHarness<LedgerStore> {}

/** One requirement of every ledger: as `StoreCase`, with the same rules for `run`. */
export interface LedgerCase extends StoreCase<LedgerStore> {}

type Given = Parameters<typeof failedDelivery>[1]

/** The calls of one case, each of which is listed if it fails. */
export interface LedgerCaseRunner extends StoreCaseRunner<LedgerStore> {
  /** That of all events of the case; each key begins with it and a slash. */
  readonly namespace: string
  /** A failed delivery of an event, by the end of its key. */
  delivery(name: string, given?: Given): FailedDelivery
  /** Keeps a failed delivery, and returns it. */
  keep(name: string, given?: Given): Promise<FailedDelivery>
  advance(minutes: number): Promise<void>
  /** Fails unless there is such an event, and returns it. */
  get(name: string): Promise<EventRecord>
  /** Lists in the namespace of the case, and fails unless there are the events of these names, in order. */
  list(query: EventQuery, names: readonly string[]): Promise<readonly EventRecord[]>
  groups(query: EventFilter & { limit?: number }, expected: readonly EventGroup[]): Promise<void>
  count(filter: EventFilter, expected: number): Promise<void>
  /** Fails if there is a difference. */
  compare(label: string, answer: unknown, expected: unknown): void
}

const define = casesOf<LedgerStore>(['fail', 'keep', 'forget', 'ledger'])

export function test(
  title: string,
  act: (runner: LedgerCaseRunner) => Promise<void>,
  skewMinutes?: number,
): LedgerCase {
  return define(title, (runner) => act(ledgerRunner(runner)), skewMinutes)
}

function ledgerRunner(runner: StoreCaseRunner<LedgerStore>): LedgerCaseRunner {
  const namespace = crypto.randomUUID()
  const keyOf = (name: string): string => `${namespace}/${name}`

  function compare(label: string, answer: unknown, expected: unknown): void {
    for (const difference of differences(answer, expected)) runner.fail(`${label}: ${difference}`)
  }

  const self: LedgerCaseRunner = {
    ...runner,
    namespace,
    compare,
    delivery: (name, given) => failedDelivery(keyOf(name), { namespace, ...given }),
    async keep(name, given) {
      const failed = self.delivery(name, given)
      await runner.run({
        label: `keep ${JSON.stringify(name)}`,
        action: { do: 'keep', key: failed.key, failed },
      })
      return failed
    },
    advance: (minutes) => runner.runAll(stepsOf(`+${minutes}`)),
    async get(name) {
      const found = await runner.call(`get ${JSON.stringify(name)}`, ({ ledger }) => ledger.get(keyOf(name)))
      return found ?? runner.fail(`get ${JSON.stringify(name)}: expected an event, but there is none`)
    },
    async list(query, names) {
      const label = `list ${describeAnswer(query)}`
      const answer = await runner.call(label, ({ ledger }) =>
        ledger.list(Object.freeze({ namespace, ...query })),
      )
      const keys = Array.isArray(answer) ? answer.map((one: Partial<EventRecord>) => String(one?.key)) : []
      const expected = names.map(keyOf)
      if (!Array.isArray(answer) || describeAnswer(keys) !== describeAnswer(expected)) {
        runner.fail(
          `${label}: expected the events of ${describeAnswer(expected)}, but it returned those of ${describeAnswer(keys)}`,
        )
      }
      return answer
    },
    async groups(query, expected) {
      const label = `groups ${describeAnswer(query)}`
      const answer = await runner.call(label, ({ ledger }) =>
        ledger.groups(Object.freeze({ namespace, ...query })),
      )
      compare(label, answer.length, expected.length)
      for (const [index, group] of expected.entries())
        compare(`${label}: group ${index + 1}`, answer[index], group)
    },
    async count(filter, expected) {
      const label = `count ${describeAnswer(filter)}`
      compare(
        label,
        await runner.call(label, ({ ledger }) => ledger.count(Object.freeze({ namespace, ...filter }))),
        expected,
      )
    },
  }
  return self
}

/** Compares what the ledger says of an event with the model. */
export async function checkRecord(
  runner: LedgerCaseRunner,
  key: string,
  model: StoreModel,
): Promise<EventRecord | undefined> {
  const found = await runner.call('get', ({ ledger }) => ledger.get(key), describeState)
  runner.compare('get', found, model.recordOf(key))
  return found
}

/**
 * Cases that are sequences of steps, on one key or two: after each step, the events must be what the model says. The step `is failing 2+1` names the
 * state of the first event, its failed deliveries and its failed replays; `is absent` that it is not known; `Is` is of the second.
 */
export function sequence(title: string, texts: readonly string[], skewMinutes?: number): LedgerCase {
  const act = async (runner: LedgerCaseRunner): Promise<void> => {
    for (const text of texts) await play(runner, text)
  }
  return test(title, act, skewMinutes)
}

/** A table of them, where a case may have several. */
export function sequences(table: string): LedgerCase[] {
  return casesIn(table, (title, texts) => sequence(title, texts))
}

async function play(runner: LedgerCaseRunner, text: string): Promise<void> {
  const model = createStoreModel()
  const subjects = [newSubject(), newSubject()]
  const found = new Map<string, EventRecord | undefined>()
  const check = async (key: string): Promise<void> =>
    void found.set(key, await checkRecord(runner, key, model))
  for (const [index, one] of text.split(/,\s*/).entries()) {
    const [, is = '', said] = /^(is) (.*)$/i.exec(one.trim()) ?? []
    if (said !== undefined) {
      const key = subjects[is === 'Is' ? 1 : 0]?.key ?? ''
      const came = describeState(found.has(key) ? found.get(key) : await checkRecord(runner, key, model))
      if (came !== said) runner.fail(`expected the event to be ${said}, but it is ${came}`)
      continue
    }
    for (const step of stepsOf(one, subjects, index + 1)) {
      await runner.run(step)
      const { action } = step
      if (action.do !== 'purge') model.perform(action)
      for (const key of 'key' in action ? [action.key] : found.keys()) await check(key)
    }
  }
}

/** As in the steps of sequences. */
export function describeState(record: EventRecord | undefined): string {
  // A ledger may return anything.
  if (record === undefined) return 'absent'
  const { state, failure } = record ?? {}
  return `${state}${failure === undefined ? '' : ` ${failure.count}${failure.replays > 0 ? `+${failure.replays}` : ''}`}`
}
