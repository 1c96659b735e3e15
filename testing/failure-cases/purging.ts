import type { FailureCaseRunner } from './case-runner.js'
import { daysAgo, deliveryMaker } from './failed-delivery.js'
import { defineCase, type FailureCase, type FailureHarness } from './failure-case.js'

type Purge = (limit: number) => Promise<number>

/** A case of the purge, which is skipped if the harness has none. */
function purgeCase(
  id: string,
  name: string,
  act: (runner: FailureCaseRunner, purge: Purge) => Promise<void>,
): FailureCase {
  return defineCase(id, name, async (runner, harness: FailureHarness) => {
    if (harness.purge === undefined) return
    const purge: Purge = (limit) =>
      runner.call(`purge at most ${limit}`, async () => harness.purge?.({ limit }) ?? 0)
    // Other cases may have left failures.
    while ((await purge(1_000)) > 0) runner.clearCalls()
    await act(runner, purge)
  })
}

/** Failures past their retention. */
export const purgingCases: readonly FailureCase[] = [
  purgeCase(
    'purge-retention',
    'MUST purge what last failed more than 30 days ago, and nothing else.',
    async (runner, purge) => {
      const make = deliveryMaker(runner.namespace)
      const parked = { parkAfter: { attempts: 1 } }
      await runner.keep(make('old', { failedAt: daysAgo(30.01) }))
      await runner.keep(make('old and parked', { failedAt: daysAgo(31), ...parked }))
      await runner.keep(make('younger', { failedAt: daysAgo(29.99) }))
      await runner.keep(make('again', { failedAt: daysAgo(40) }))
      await runner.keep(make('again', { failedAt: daysAgo(2), ...parked }))
      const count = await purge(1_000)
      if (count !== 2) runner.fail(`purge: expected 2, but it returned ${count}`)
      await runner.list(
        {},
        ['again', 'younger'].map((name) => `${runner.namespace}/${name}`),
      )
      const rest = await purge(1_000)
      if (rest !== 0) runner.fail(`purge: expected 0, but it returned ${rest}`)
    },
  ),

  purgeCase('purge-limit', 'MUST purge at most the limit, oldest first.', async (runner, purge) => {
    const make = deliveryMaker(runner.namespace)
    for (const days of [33, 35, 31, 34, 32]) await runner.keep(make(`${days}`, { failedAt: daysAgo(days) }))
    for (const [count, ...left] of [[2, 31, 32, 33], [2, 31], [1]] as const) {
      const purged = await purge(2)
      if (purged !== count) runner.fail(`purge: expected ${count}, but it returned ${purged}`)
      await runner.list(
        {},
        left.map((days) => `${runner.namespace}/${days}`),
      )
    }
  }),
]
