import type { FailureGroup } from '../../src/index.js'
import { at, deliveryMaker } from './failed-delivery.js'
import { defineCase, type FailureCase } from './failure-case.js'

const groupName = (digit: string): string => digit.repeat(16)

/** Failures of one cause. */
export const groupingCases: readonly FailureCase[] = [
  defineCase(
    'groups',
    'MUST count the failures of a cause, with their dates, and what failed last as the example.',
    async (runner) => {
      const make = deliveryMaker(runner.namespace)
      const [one, two] = [groupName('1'), groupName('2')]
      await runner.keep(make('1', { group: one, failedAt: at(1), kind: 'a', code: 'c1', message: 'm1' }))
      await runner.keep(make('2', { group: one, failedAt: at(6), kind: 'b', code: 'c2', message: 'm2' }))
      await runner.keep(make('3', { group: one, failedAt: at(2), kind: 'c', code: 'c3', message: 'm3' }))
      await runner.keep(make('4', { group: two, failedAt: at(3), kind: 'd', code: 'c4', message: 'm4' }))
      await runner.keep(make('4', { group: two, failedAt: at(9), kind: 'd', code: 'c5', message: 'm5' }))
      const second: FailureGroup = {
        group: two,
        count: 1,
        firstAt: at(3),
        lastAt: at(9),
        kind: 'd',
        code: 'c5',
        message: 'm5',
      }
      const first: FailureGroup = {
        group: one,
        count: 3,
        firstAt: at(1),
        lastAt: at(6),
        kind: 'b',
        code: 'c2',
        message: 'm2',
      }
      await runner.groups({}, [second, first])
      // It now fails for another cause.
      await runner.keep(make('2', { group: two, failedAt: at(10), kind: 'b', code: 'c6', message: 'm6' }))
      await runner.groups({}, [
        { ...second, count: 2, firstAt: at(3), lastAt: at(10), kind: 'b', code: 'c6', message: 'm6' },
        { ...first, count: 2, lastAt: at(2), kind: 'c', code: 'c3', message: 'm3' },
      ])
    },
  ),

  defineCase('groups-filter', 'MUST group only what meets all conditions.', async (runner) => {
    const make = deliveryMaker(runner.namespace)
    const [one, two] = [groupName('1'), groupName('2')]
    await runner.keep(make('1', { group: one, failedAt: at(1), account: 'x' }))
    await runner.keep(make('2', { group: one, failedAt: at(2), account: 'y' }))
    await runner.keep(make('3', { group: two, failedAt: at(3), account: 'y', parkAfter: { attempts: 1 } }))
    const { kind, code, message } = make('1')
    const of = (group: string, minutes: number): FailureGroup => ({
      group,
      count: 1,
      firstAt: at(minutes),
      lastAt: at(minutes),
      kind,
      code,
      message,
    })
    await runner.groups({ account: 'x' }, [of(one, 1)])
    await runner.groups({ account: 'y' }, [of(two, 3), of(one, 2)])
    await runner.groups({ account: 'y', state: 'failing' }, [of(one, 2)])
    await runner.groups({ group: two }, [of(two, 3)])
    await runner.groups({ group: one, state: 'parked' }, [])
  }),

  defineCase(
    'groups-limit',
    'MUST return at most 100 groups, or the limit, the latest first.',
    async (runner) => {
      const make = deliveryMaker(runner.namespace)
      const { kind, code, message } = make('')
      const groups = Array.from(
        { length: 102 },
        (_, index): FailureGroup => ({
          group: index.toString(16).padStart(16, '0'),
          count: 1,
          firstAt: at(index),
          lastAt: at(index),
          kind,
          code,
          message,
        }),
      )
      await Promise.all(
        groups.map(({ group, lastAt }) => runner.keep(make(group, { group, failedAt: lastAt }))),
      )
      groups.reverse()
      await runner.groups({}, groups.slice(0, 100))
      await runner.groups({ limit: 2 }, groups.slice(0, 2))
      await runner.groups({ limit: 1_000 }, groups)
    },
  ),
]
