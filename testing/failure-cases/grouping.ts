import type { FailureGroup } from '../../src/index.js'
import { at, deliveryMaker, manyBytes } from './failed-delivery.js'
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
      await runner.keep(make('4', { group: two, failedAt: at(0), kind: 'd', code: 'c4', message: 'm4' }))
      await runner.keep(make('4', { group: two, failedAt: at(9), kind: 'd', code: 'c5', message: 'm5' }))
      const second: FailureGroup = {
        group: two,
        count: 1,
        firstAt: at(0),
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
        { ...second, count: 2, lastAt: at(10), kind: 'b', code: 'c6', message: 'm6' },
        { ...first, count: 2, lastAt: at(2), kind: 'c', code: 'c3', message: 'm3' },
      ])
    },
  ),

  defineCase('groups-filter', 'MUST group only what meets all conditions.', async (runner) => {
    const make = deliveryMaker(runner.namespace)
    const [one, two] = [groupName('1'), groupName('2')]
    const alike = `${runner.namespace}s`
    // They differ in every field that a group shows, so that a field from another account or namespace is noticed.
    const all = [
      make('1', { group: one, account: 'x' }),
      make('2', { group: one, account: 'y' }),
      make('3', { group: two, account: 'y', parkAfter: { attempts: 1 } }),
      make('4', { group: one, account: 'y', namespace: alike, key: `${alike}/4` }),
    ].map((failed, index) => ({
      ...failed,
      failedAt: at(index),
      kind: `k${index}`,
      code: `c${index}`,
      message: `m${index}`,
    }))
    for (const failed of all) await runner.keep(failed)
    const [first, second, third] = all.map(({ group, failedAt, kind, code, message }) => ({
      group,
      count: 1,
      firstAt: failedAt,
      lastAt: failedAt,
      kind,
      code,
      message,
    })) as [FailureGroup, FailureGroup, FailureGroup]
    await runner.groups({ account: 'x' }, [first])
    await runner.groups({ account: 'y' }, [third, second])
    await runner.groups({ kind: 'k0' }, [first])
    await runner.groups({ account: 'y', state: 'failing' }, [second])
    await runner.groups({ group: two }, [third])
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
      const rawBody = manyBytes()
      await Promise.all(
        groups.map(({ group, lastAt }) => runner.keep(make(group, { group, failedAt: lastAt, rawBody }))),
      )
      // The limit counts groups, not failures: the latest group has two.
      const last = groups.at(-1) as FailureGroup
      await runner.keep(make('again', { group: last.group, failedAt: last.lastAt }))
      groups.splice(-1, 1, { ...last, count: 2 })
      groups.reverse()
      await runner.groups({}, groups.slice(0, 100))
      await runner.groups({ limit: 2 }, groups.slice(0, 2))
      await runner.groups({ limit: 1_000 }, groups)
    },
  ),
]
