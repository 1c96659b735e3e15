import { describeValue, failureOf } from './expected-failure.js'
import { at, deliveryMaker } from './failed-delivery.js'
import { defineCase, type FailureCase } from './failure-case.js'

const KEEPS = 50
/** Either of two calls may come first, and a fault may show in one order only. */
const ROUNDS = 16

/** Each method must be one atomic operation. */
export const raceCases: readonly FailureCase[] = [
  defineCase(
    'race-keep',
    `MUST count ${KEEPS} attempts that are kept at once, and park the event at one of them.`,
    async (runner) => {
      const failed = deliveryMaker(runner.namespace)('1', { parkAfter: { attempts: KEEPS } })
      const states = await Promise.all(
        Array.from({ length: KEEPS }, (_, index) => {
          const client = index % 2 === 0 ? runner : runner.second
          return client.keep({ ...failed, isReplay: index % 5 === 0 })
        }),
      )
      const parked = states.filter((state) => state === 'parked').length
      if (parked !== 1 || states.filter((state) => state === 'failing').length !== KEEPS - 1) {
        runner.fail(`expected one parked and ${KEEPS - 1} failing, but ${parked} are parked`)
      }
      await runner.get(
        failed.key,
        failureOf(failed, { state: 'parked', attempts: KEEPS, replays: KEEPS / 5, lastReplayedAt: at(0) }),
      )
    },
  ),

  defineCase('race-keys', 'MUST keep failures of different events at once.', async (runner) => {
    const make = deliveryMaker(runner.namespace)
    const all = Array.from({ length: KEEPS }, (_, index) => make(`${index % (KEEPS / 2)}`))
    await Promise.all(
      all.map((failed, index) => (index % 2 === 0 ? runner : runner.second).keep(failed, 'failing')),
    )
    await runner.count({}, KEEPS / 2)
    for (const failed of all.slice(0, KEEPS / 2))
      await runner.get(failed.key, failureOf(failed, { attempts: 2 }))
  }),

  defineCase(
    'race-delete',
    'MUST either delete an attempt that is kept at the same time, or keep it as the first.',
    async (runner) => {
      for (let round = 0; round < ROUNDS; round++) {
        runner.clearCalls()
        const failed = deliveryMaker(runner.namespace)(`${round}`)
        await runner.keep(failed, 'failing')
        const calls = [() => runner.keep(failed, 'failing'), () => runner.second.delete(failed.key, true)]
        if (round % 2 === 1) calls.reverse()
        await Promise.all(calls.map((call) => call()))
        const kept = await runner.call(`get '${round}'`, (failures) => failures.get(failed.key))
        if (kept !== undefined) await runner.get(failed.key, failureOf(failed))
      }
    },
  ),

  defineCase('race-deletes', 'MUST return true to one of two deletes at once.', async (runner) => {
    for (let round = 0; round < ROUNDS; round++) {
      runner.clearCalls()
      const failed = deliveryMaker(runner.namespace)(`${round}`)
      await runner.keep(failed, 'failing')
      const deleted = await Promise.all([runner.delete(failed.key), runner.second.delete(failed.key)])
      if (deleted.filter((one) => one === true).length !== 1) {
        runner.fail(
          `two deletes at once: expected true and false in any order, but they returned ${describeValue(deleted)}`,
        )
      }
      await runner.get(failed.key, undefined)
    }
  }),
]
