import type {
  FailedDelivery,
  Failure,
  FailureFilter,
  FailureGroup,
  FailureQuery,
  FailureState,
  Failures,
} from '../../src/index.js'
import { describeValue, differences } from './expected-failure.js'

/** A failure of a case with many calls lists only the last. */
const MAX_LISTED_CALLS = 40

/** One client of the backend: each call is listed if the case fails, and fails it unless the answer is the expected one. */
interface Client {
  keep(failed: FailedDelivery, expected?: FailureState): Promise<unknown>
  /** @param expected undefined if there must be none */
  get(key: string, expected: Failure | undefined): Promise<void>
  /** Returns the failure, which the case judges itself. */
  found(key: string): Promise<Failure>
  delete(key: string, expected?: boolean): Promise<unknown>
  /** @param keys those of the failures, in order */
  list(query: FailureQuery, keys: readonly string[]): Promise<readonly Failure[]>
  groups(query: FailureFilter & { limit?: number }, expected: readonly FailureGroup[]): Promise<void>
  count(filter: FailureFilter, expected: number): Promise<void>
  /** Any call, of which the case judges the answer itself. */
  call<T>(label: string, call: (failures: Failures) => T | Promise<T>): Promise<T>
}

/** Makes the calls of one case, and lists them when the case fails. */
export interface FailureCaseRunner extends Client {
  /** Another client of the same backend, if the harness has one; otherwise the same. */
  readonly second: Client
  /** That of all failures of this case; each key of it begins with it and a slash. */
  readonly namespace: string
  /** @throws Error always */
  fail(message: string): never
  /** Drops the calls so far from the list, if the following ones do not depend on them. */
  clearCalls(): void
}

export function createCaseRunner(
  { id, name }: { id: string; name: string },
  failures: Failures,
  other: Failures,
): FailureCaseRunner {
  const namespace = crypto.randomUUID()
  let lines: string[] = []
  const nameOf = (key: string): string => describeValue(key.replace(`${namespace}/`, ''))

  const namesOf = (keys: readonly string[]): string => keys.map(nameOf).join(', ') || 'no key'

  function failure(message: string, cause?: unknown): Error {
    const calls = lines.map((line, index) => `\n  ${index + 1}. ${line}`).slice(-MAX_LISTED_CALLS)
    return new Error(`case ${id}: ${message}.\nFailures ${name}${calls.join('')}`, { cause })
  }

  function fail(message: string): never {
    throw failure(message)
  }

  function clientOf(client: Failures, which: string): Client {
    async function call<T>(label: string, make: (failures: Failures) => T | Promise<T>): Promise<T> {
      const index = lines.push(`${label}${which}`) - 1
      const ends = (end: string): void => {
        lines[index] = `${label}${which} → ${end}`
      }
      try {
        const answer = await make(client)
        ends(describeValue(answer))
        return answer
      } catch (cause) {
        const reason = cause instanceof Error ? cause.message : describeValue(cause)
        ends(`rejected: ${reason}`)
        throw failure(`${label}${which} was rejected: ${reason}`, cause)
      }
    }

    async function expectAnswer<T>(label: string, expected: T, make: (failures: Failures) => T | Promise<T>) {
      const answer = await call(label, make)
      if (expected !== undefined && answer !== expected) {
        fail(`${label}: expected ${describeValue(expected)}, but it returned ${describeValue(answer)}`)
      }
      return answer
    }

    const get = (key: string): Promise<Failure | undefined> =>
      call(`get ${nameOf(key)}`, (one) => one.get(key))

    return {
      call,
      keep: (failed, expected) =>
        expectAnswer<FailureState | undefined>(
          `keep ${nameOf(failed.key)}${failed.isReplay ? ' of a replay' : ''}`,
          expected,
          (one) => one.keep(Object.freeze({ ...failed })),
        ),
      async get(key, expected) {
        const answer = await get(key)
        for (const difference of differences(answer, expected)) fail(`get ${nameOf(key)}: ${difference}`)
      },
      async found(key) {
        return (await get(key)) ?? fail(`get ${nameOf(key)}: expected a failure, but there is none`)
      },
      delete: (key, expected) =>
        expectAnswer<boolean | undefined>(`delete ${nameOf(key)}`, expected, (one) => one.delete(key)),
      async list(query, keys) {
        const label = `list ${describeValue({ ...query, namespace: undefined })}`
        const answer = await call(label, (one) => one.list(Object.freeze({ namespace, ...query })))
        const listed = Array.isArray(answer)
          ? answer.map((one: Partial<Failure>) => String(one?.key))
          : undefined
        if (listed === undefined)
          return fail(`${label}: expected an array, but it returned ${describeValue(answer)}`)
        if (listed.length !== keys.length || listed.some((key, index) => key !== keys[index])) {
          fail(`${label}: expected those of ${namesOf(keys)}, but it returned ${namesOf(listed)}`)
        }
        return answer
      },
      async groups(query, expected) {
        const label = `groups ${describeValue({ ...query, namespace: undefined })}`
        const answer = await call(label, (one) => one.groups(Object.freeze({ namespace, ...query })))
        if (!Array.isArray(answer) || answer.length !== expected.length) {
          fail(`${label}: expected ${expected.length} groups, but it returned ${describeValue(answer)}`)
        }
        expected.forEach((group, index) => {
          for (const difference of differences(answer[index], group)) {
            fail(`${label}: group ${index + 1}: ${difference}`)
          }
        })
      },
      async count(filter, expected) {
        const label = `count ${describeValue({ ...filter, namespace: undefined })}`
        await expectAnswer(label, expected, (one) => one.count(Object.freeze({ namespace, ...filter })))
      },
    }
  }

  return {
    ...clientOf(failures, ''),
    second: clientOf(other, other === failures ? '' : ' by the second client'),
    namespace,
    fail,
    clearCalls() {
      lines = []
    },
  }
}
