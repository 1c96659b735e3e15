import type { Failure, FailureFilter, FailureQuery } from '../../src/index.js'
import type { FailureCaseRunner } from './case-runner.js'
import { failureOf } from './expected-failure.js'
import { at, deliveryMaker, manyBytes, withoutOptional } from './failed-delivery.js'
import { defineCase, type FailureCase } from './failure-case.js'

/** Their order by bytes is not that of any language. */
const NAMES = ['A', 'B', '_', 'a', 'b', '~']

/** Keeps failures at these minutes, and returns their keys. */
async function keepAt(
  runner: FailureCaseRunner,
  minutes: Readonly<Record<string, number>>,
): Promise<string[]> {
  const make = deliveryMaker(runner.namespace)
  const all = Object.entries(minutes).map(([name, minute]) => make(name, { failedAt: at(minute) }))
  for (const failed of all) await runner.keep(failed)
  return all.map(({ key }) => key)
}

/** Reads all pages, each from the end of the last one. */
async function pagesCase(runner: FailureCaseRunner, order: 'newest' | 'oldest'): Promise<void> {
  const minutes = { A: 0, B: 5, _: 5, a: 5, b: 5, '~': 5, z: 9 }
  const keys = await keepAt(runner, minutes)
  const expected = order === 'newest' ? keys.reverse() : keys
  let last: Failure | undefined
  for (let from = 0; from <= expected.length; from += 2) {
    const query: FailureQuery = { order, limit: 2, [order === 'newest' ? 'before' : 'after']: last }
    const page = await runner.list(query, expected.slice(from, from + 2))
    last = page.at(-1)
  }
}

/** Which failures are returned, and in which order. */
export const listingCases: readonly FailureCase[] = [
  defineCase('list-fields', 'MUST return each failure as a get does.', async (runner) => {
    const make = deliveryMaker(runner.namespace)
    const all = [
      make('1', { failedAt: at(1), parkAfter: { attempts: 1 } }),
      withoutOptional(make('2', { failedAt: at(0) })),
    ]
    for (const failed of all) await runner.keep(failed)
    const listed = await runner.list({}, [`${runner.namespace}/1`, `${runner.namespace}/2`])
    for (const failure of listed) await runner.get(failure.key, failure)
    await runner.get(listed[0]?.key ?? '', failureOf(all[0] as never, { state: 'parked' }))
  }),

  defineCase('list-order', 'MUST list by the last failure, newest first or oldest first.', async (runner) => {
    const [one, two, three] = (await keepAt(runner, { 1: 3, 2: 1, 3: 2 })) as [string, string, string]
    await runner.list({}, [one, three, two])
    await runner.list({ order: 'newest' }, [one, three, two])
    await runner.list({ order: 'oldest' }, [two, three, one])
    await keepAt(runner, { 2: 7 })
    await runner.list({}, [two, one, three])
  }),

  defineCase('list-ties', 'MUST order failures of one date by the bytes of their keys.', async (runner) => {
    const keys = await keepAt(runner, Object.fromEntries(NAMES.map((name) => [name, 0])))
    await runner.list({ order: 'oldest' }, keys)
    await runner.list({ order: 'newest' }, keys.reverse())
  }),

  defineCase(
    'list-pages',
    'MUST return each failure once on pages from the newest, also those of one date.',
    (runner) => pagesCase(runner, 'newest'),
  ),

  defineCase(
    'list-pages-oldest',
    'MUST return each failure once on pages from the oldest, also those of one date.',
    (runner) => pagesCase(runner, 'oldest'),
  ),

  defineCase(
    'list-between',
    'MUST return what failed before and after a date, without it.',
    async (runner) => {
      const [, two, three, four] = (await keepAt(runner, { 1: 1, 2: 2, 3: 3, 4: 4 })) as string[] as [
        string,
        string,
        string,
        string,
      ]
      await runner.list({ after: at(1), before: at(4) }, [three, two])
      await runner.list({ after: at(2) }, [four, three])
      await runner.list({ before: at(2), order: 'oldest' }, [`${runner.namespace}/1`])
      await runner.list({ after: at(4) }, [])
      const position = { lastAt: at(3), key: three }
      await runner.list({ after: position }, [four])
      await runner.list({ before: position, after: at(1) }, [two])
    },
  ),

  defineCase(
    'list-limit',
    'MUST return at most 100 failures, or the limit, which may be 1,000.',
    async (runner) => {
      const make = deliveryMaker(runner.namespace)
      const names = Array.from({ length: 103 }, (_, index) => `${index}`.padStart(3, '0'))
      const rawBody = manyBytes()
      await Promise.all(names.map((name, index) => runner.keep(make(name, { failedAt: at(index), rawBody }))))
      const keys = names.map((name) => `${runner.namespace}/${name}`).reverse()
      await runner.list({}, keys.slice(0, 100))
      await runner.list({ limit: 1 }, keys.slice(0, 1))
      await runner.list({ limit: 1_000 }, keys)
      await runner.count({}, 103)
    },
  ),

  defineCase('list-filters', 'MUST list and count what meets all conditions.', async (runner) => {
    const make = deliveryMaker(runner.namespace)
    const parked = { parkAfter: { attempts: 1 } }
    const all = [
      make('1', { kind: 'a', account: 'x', group: '1'.repeat(16), eventId: 'e1', orderId: 'o1' }),
      make('2', { kind: 'a', account: 'y', group: '2'.repeat(16), eventId: 'e2', orderId: 'o1', ...parked }),
      make('3', { kind: 'b', account: 'x', group: '1'.repeat(16), eventId: 'e2', orderId: 'o2', ...parked }),
      withoutOptional(make('4', { kind: '', group: '2'.repeat(16) })),
    ].map((failed, index) => ({ ...failed, failedAt: at(-index) }))
    for (const failed of all) await runner.keep(failed)
    // A list by the prefix of the namespace would find it.
    const alike = `${runner.namespace}s`
    await runner.keep(make('5', { key: `${alike}/5`, namespace: alike }))
    const expected: [FailureFilter, ...number[]][] = [
      [{}, 1, 2, 3, 4],
      [{ state: 'failing' }, 1, 4],
      [{ state: 'parked' }, 2, 3],
      [{ kind: 'a' }, 1, 2],
      [{ kind: '' }, 4],
      [{ kind: 'A' }],
      [{ account: 'x' }, 1, 3],
      [{ group: '1'.repeat(16) }, 1, 3],
      [{ eventId: 'e2' }, 2, 3],
      [{ orderId: 'o1' }, 1, 2],
      [{ state: 'parked', kind: 'a' }, 2],
      [{ account: 'x', group: '2'.repeat(16) }],
      [{ account: 'x', orderId: 'o2', eventId: 'e2', kind: 'b', state: 'parked', group: '1'.repeat(16) }, 3],
      [{ state: undefined, kind: undefined, account: 'y' }, 2],
      [{ namespace: `${runner.namespace}/` }],
    ]
    for (const [filter, ...names] of expected) {
      await runner.list(
        filter,
        names.map((name) => `${runner.namespace}/${name}`),
      )
      await runner.count(filter, names.length)
    }
    await runner.list({ account: 'x', before: at(0) }, [`${runner.namespace}/3`])
    // The limit counts what meets the conditions, and the newest failure does not.
    await runner.list({ kind: 'b', limit: 1 }, [`${runner.namespace}/3`])
  }),

  defineCase('list-all', 'MUST list and count all failures without a filter.', async (runner) => {
    const failed = deliveryMaker(runner.namespace)('1', { failedAt: new Date(Date.now() + 60_000) })
    await runner.keep(failed)
    const listed = await runner.call('list', (failures) => failures.list())
    if (!listed.some(({ key }) => key === failed.key)) runner.fail('list: expected the failure that was kept')
    const count = await runner.call('count', (failures) => failures.count())
    if (!(count >= 1)) runner.fail(`count: expected 1 or more, but it returned ${count}`)
    const groups = await runner.call('groups', (failures) => failures.groups())
    if (!groups.some(({ group }) => group === failed.group))
      runner.fail('groups: expected that of the failure')
    await runner.delete(failed.key, true)
  }),
]
