import type { EventFilter, EventGroup, EventQuery, EventRecord } from '../../src/index.js'
import { describeAnswer } from '../store-cases/answers.js'
import { newToken, stepsOf } from '../store-cases/steps.js'
import { type LedgerCase, type LedgerCaseRunner, test } from './ledger-case.js'

const groupName = (digit: number): string => digit.toString(16).padStart(16, '0')

/** Keeps events two minutes apart, so that the first is the oldest. */
async function keepInTurn(runner: LedgerCaseRunner, names: readonly string[]): Promise<EventRecord[]> {
  for (const name of names) {
    await runner.keep(name)
    await runner.advance(2)
  }
  // Not sooner: time may pass by moving the stored dates.
  return Promise.all(names.map((name) => runner.get(name)))
}

/** Reads all pages, each from the end of the last one, while events change between them. */
async function pagesCase(runner: LedgerCaseRunner, order: 'newest' | 'oldest'): Promise<void> {
  // Their order by bytes is not that of any language. Those that are kept at once may have one date.
  const names = ['A', 'b', '_', 'a', 'B', '~']
  await runner.keep('z')
  await runner.advance(2)
  await Promise.all(names.map((name) => runner.keep(name)))
  await runner.advance(2)
  await runner.keep('0')
  const all = await Promise.all(['z', '0', ...names].map((name) => runner.get(name)))
  const sorted = all
    .sort((a, b) => a.receivedAt.getTime() - b.receivedAt.getTime() || (a.key < b.key ? -1 : 1))
    .map(({ key }) => key.slice(runner.namespace.length + 1))
  if (order === 'newest') sorted.reverse()
  let last: EventRecord | undefined
  for (let from = 0; from <= sorted.length; from += 2) {
    const query: EventQuery = { order, limit: 2, [order === 'newest' ? 'before' : 'after']: last }
    const page = await runner.list(query, sorted.slice(from, from + 2))
    last = page.at(-1)
    // What fails again stays where it is.
    await runner.keep(sorted.at(-1) as string)
    await runner.keep(sorted[0] as string)
  }
}

/** Which events are returned, and in which order. */
const LISTS: readonly LedgerCase[] = [
  test('list-fields: MUST return each event as a get does, with its bytes if asked.', async (runner) => {
    await runner.keep('1', { parkAfter: { attempts: 1 } })
    await runner.advance(2)
    await runner.keep('2', { account: undefined, eventId: undefined, orderId: undefined })
    for (const bodies of [false, true]) {
      for (const event of await runner.list({ bodies }, ['2', '1'])) {
        const found = await runner.get(event.key.slice(runner.namespace.length + 1))
        runner.compare('list', event, bodies ? found : { ...found, rawBody: undefined })
      }
    }
  }),

  test('list-order: MUST list by the date on which events were first seen, newest first or oldest first, whatever happens later.', async (runner) => {
    await keepInTurn(runner, ['2', '1', '3'])
    await runner.keep('2')
    await runner.list({}, ['3', '1', '2'])
    await runner.list({ order: 'newest' }, ['3', '1', '2'])
    await runner.list({ order: 'oldest' }, ['2', '1', '3'])
  }),

  test('list-pages: MUST return each event once on pages from the newest.', (runner) =>
    pagesCase(runner, 'newest')),
  test('list-pages-oldest: MUST return each event once on pages from the oldest.', (runner) =>
    pagesCase(runner, 'oldest')),

  test('list-between: MUST return what came before and after a date, without it.', async (runner) => {
    const [one, two, three, four] = (await keepInTurn(runner, ['1', '2', '3', '4'])) as [
      ...[EventRecord, EventRecord, EventRecord, EventRecord],
    ]
    await runner.list({ after: one.receivedAt, before: four.receivedAt }, ['3', '2'])
    await runner.list({ after: two.receivedAt }, ['4', '3'])
    await runner.list({ before: two.receivedAt, order: 'oldest' }, ['1'])
    await runner.list({ after: four.receivedAt }, [])
    const { receivedAt, key } = three
    await runner.list({ after: { receivedAt, key } }, ['4'])
    await runner.list({ before: { receivedAt, key }, after: one.receivedAt }, ['2'])
  }),

  test('list-limit: MUST return at most 100 events, or the limit, which may be 1,000; with bodies 20.', async (runner) => {
    const names = Array.from({ length: 103 }, (_, index) => `${index}`)
    // More than a megabyte together, which is the most that some backends read at once.
    await Promise.all(names.map((name) => runner.keep(name, { rawBody: new Uint8Array(11_000) })))
    const all = await runner.call('list 1,000', ({ ledger }) =>
      ledger.list({ namespace: runner.namespace, limit: 1_000 }),
    )
    const sorted = all.map(({ key }) => key.slice(runner.namespace.length + 1))
    runner.compare('list 1,000', sorted.length, 103)
    await runner.list({}, sorted.slice(0, 100))
    await runner.list({ limit: 1 }, sorted.slice(0, 1))
    await runner.list({ bodies: true }, sorted.slice(0, 20))
    await runner.count({}, 103)
  }),

  test('list-filters: MUST list and count what meets all conditions.', async (runner) => {
    const parked = { parkAfter: { attempts: 1 } }
    const [one, two] = [groupName(1), groupName(2)]
    const all = [
      { kind: '', account: undefined, eventId: undefined, orderId: undefined, group: two },
      { kind: 'b', account: 'x', group: one, eventId: 'e2', orderId: 'o2', ...parked },
      { kind: 'a', account: 'y', group: two, eventId: 'e2', orderId: 'o1', ...parked },
      { kind: 'a', account: 'x', group: one, eventId: 'e1', orderId: 'o1' },
    ]
    for (const [index, given] of all.entries()) {
      await runner.keep(`${4 - index}`, given)
      await runner.advance(2)
    }
    await runner.keep('5')
    await runner.keep('6')
    // A list by the prefix of the namespace would find it.
    const alike = `${runner.namespace}s`
    await runner.keep('7', { key: `${alike}/7`, namespace: alike })
    const keys = ['5', '6', '8', '9'].map((name) => `${runner.namespace}/${name}`)
    const [handled, discarded, running, released] = keys.map((key) => ({ key, tokens: { a: newToken() } }))
    const steps = [
      ...stepsOf('a claim = 1, a complete = yes, A complete discarded = no, DISCARD = discarded', [
        handled,
        discarded,
      ] as never),
      ...stepsOf('a claim = 1, A claim = 1, A release = yes', [running, released] as never),
    ]
    await runner.runAll(steps)
    const expected: [EventFilter, ...number[]][] = [
      [{}, 1, 2, 3, 4],
      [{ state: 'failing' }, 1, 4],
      [{ state: 'parked' }, 2, 3],
      [{ state: 'handled' }, 5],
      [{ state: 'discarded' }, 6],
      [{ state: 'handled', kind: 'a' }],
      [{ kind: 'a' }, 1, 2],
      [{ kind: '' }, 4],
      [{ kind: 'A' }],
      [{ account: 'x' }, 1, 3],
      [{ group: one }, 1, 3],
      [{ eventId: 'e2' }, 2, 3],
      [{ orderId: 'o1' }, 1, 2],
      [{ state: 'parked', kind: 'a' }, 2],
      [{ account: 'x', group: two }],
      [{ account: 'x', orderId: 'o2', eventId: 'e2', kind: 'b', state: 'parked', group: one }, 3],
      [{ state: undefined, kind: undefined, account: 'y' }, 2],
      [{ namespace: `${runner.namespace}/` }],
    ]
    for (const [filter, ...names] of expected) {
      await runner.list(filter, names.map(String))
      await runner.count(filter, names.length)
    }
    // The limit counts what meets the conditions, and the newest event does not.
    await runner.list({ kind: 'b', limit: 1 }, ['3'])
  }),

  test('list-all: MUST list, count and group all failures without a filter.', async (runner) => {
    const failed = await runner.keep('1')
    const { listed, counted, grouped } = await runner.call('list, count and groups', async ({ ledger }) => ({
      listed: (await ledger.list()).some(({ key }) => key === failed.key),
      counted: (await ledger.count()) >= 1,
      grouped: (await ledger.groups()).some(({ group }) => group === failed.group),
    }))
    runner.compare(
      'list, count and groups',
      { listed, counted, grouped },
      { listed: true, counted: true, grouped: true },
    )
  }),
]

/** The group of these events, the last of which failed last. */
function groupOf(events: readonly EventRecord[]): EventGroup {
  const failures = events.flatMap(({ failure }) => failure ?? [])
  const latest = failures.at(-1) as (typeof failures)[number]
  const parked = events.filter(({ state }) => state === 'parked').length
  return {
    ...{ group: latest.group, count: events.length, failing: events.length - parked, parked },
    replays: failures.reduce((sum, { replays }) => sum + replays, 0),
    firstAt: new Date(Math.min(...failures.map(({ firstAt }) => firstAt.getTime()))),
    lastAt: latest.lastAt,
    kind: events.at(-1)?.kind ?? '',
    ...{ code: latest.code, message: latest.message },
  }
}

/** Failures of one cause. */
const GROUPS: readonly LedgerCase[] = [
  test('groups: MUST count the failures of a cause, with their dates, and what failed last as the example.', async (runner) => {
    const keep = async (name: string, group: number, given: object = {}): Promise<void> => {
      const about = {
        group: groupName(group),
        kind: `kind ${name}`,
        message: `${name} of ${group}`,
        code: `code_${group}`,
      }
      await runner.keep(name, { ...about, ...given })
      await runner.advance(2)
    }
    const group = async (...names: string[]): Promise<EventGroup> =>
      groupOf(await Promise.all(names.map((name) => runner.get(name))))
    await keep('4', 2)
    await keep('1', 1)
    await keep('3', 1, { parkAfter: { attempts: 1 } })
    await keep('2', 1)
    await keep('4', 2, { isReplay: true })
    await runner.groups({}, [await group('4'), await group('1', '3', '2')])
    // It now fails for another cause.
    await keep('2', 2)
    await runner.groups({}, [await group('4', '2'), await group('1', '3')])
  }),

  test('groups-filter: MUST group only what meets all conditions.', async (runner) => {
    const alike = `${runner.namespace}s`
    // They differ in every field that a group shows, so that a field from another account or namespace is noticed.
    const given = [
      { group: groupName(1), account: 'x' },
      { group: groupName(1), account: 'y' },
      { group: groupName(2), account: 'y', parkAfter: { attempts: 1 } },
      { group: groupName(1), account: 'y', namespace: alike, key: `${alike}/3` },
    ]
    for (const [index, one] of given.entries()) {
      await runner.keep(`${index}`, { ...one, kind: `k${index}`, code: `c${index}`, message: `m${index}` })
      await runner.advance(2)
    }
    const [first, second, third] = await Promise.all(
      ['0', '1', '2'].map(async (name) => groupOf([await runner.get(name)])),
    )
    const expected: [EventFilter, ...(EventGroup | undefined)[]][] = [
      [{ account: 'x' }, first],
      [{ account: 'y' }, third, second],
      [{ kind: 'k0' }, first],
      [{ account: 'y', state: 'failing' }, second],
      [{ group: groupName(2) }, third],
      [{ group: groupName(1), state: 'parked' }],
    ]
    for (const [filter, ...groups] of expected) await runner.groups(filter, groups as EventGroup[])
  }),

  test('groups-limit: MUST return at most 100 groups, or the limit, the latest first.', async (runner) => {
    const names = Array.from({ length: 102 }, (_, index) => `${index}`)
    await Promise.all(names.map((name) => runner.keep(name, { group: groupName(Number(name)) })))
    await runner.advance(2)
    // The limit counts groups, not failures: the latest group has two.
    await runner.keep('again', { group: groupName(7) })
    const all = await Promise.all(names.map((name) => runner.get(name)))
    const groups = all
      .map((one) => [one, groupOf([one])] as const)
      .sort(([, a], [, b]) => b.lastAt.getTime() - a.lastAt.getTime() || (a.group < b.group ? -1 : 1))
      .filter(([, { group }]) => group !== groupName(7))
      .map(([, group]) => group)
    groups.unshift(groupOf([all[7] as EventRecord, await runner.get('again')]))
    await runner.groups({}, groups.slice(0, 100))
    await runner.groups({ limit: 2 }, groups.slice(0, 2))
    await runner.groups({ limit: 1_000 }, groups)
  }),
]

const FILTERS: readonly object[] = [
  { state: 'running' },
  { kind: 5 },
  { account: null },
  { eventId: ['evt_1'] },
  { event_id: 'evt_1' },
]
const LIMITS: readonly object[] = [
  { limit: 0 },
  { limit: 1_001 },
  { limit: 1.5 },
  { limit: '5' },
  { limit: Number.NaN },
]
const PAGES: readonly object[] = [
  ...[
    { order: 'latest' },
    { before: '2026-01-01' },
    { before: new Date(Number.NaN) },
    { after: { key: 'a' } },
  ],
  ...[{ after: 5 }, { bodies: 'yes' }, { bodies: true, limit: 21 }],
]
const KEYS: readonly unknown[] = ['', 'k'.repeat(256), 'ä', 5]

/** Calls that only a faulty program makes. */
const REFUSED: readonly (readonly [
  method: 'list' | 'groups' | 'count' | 'get' | 'discard',
  arguments_: readonly unknown[],
])[] = [
  ['list', [...FILTERS, ...LIMITS, ...PAGES]],
  ['groups', [...FILTERS, ...LIMITS, { order: 'oldest' }, { state: 'handled' }]],
  ['count', [...FILTERS, { limit: 5 }]],
  ['get', KEYS],
  ['discard', KEYS],
]

const REFUSALS = REFUSED.map(([method, given]) =>
  test(`invalid-${method}: SHOULD reject invalid arguments of ${method} with a TypeError.`, async (runner) => {
    for (const one of given) {
      const label = `${method} ${describeAnswer(one)}`
      const end = await runner.call(label, async ({ ledger }) => {
        try {
          await (ledger[method] as (one: unknown, two: object) => unknown)(one, { reason: 'a test' })
          return 'no error'
        } catch (error) {
          return error
        }
      })
      if (!(end instanceof TypeError)) {
        runner.fail(
          `${label}: expected a TypeError, but there was ${end instanceof Error ? `${end.name}: ${end.message}` : end}`,
        )
      }
    }
  }),
)

export const listingCases: readonly LedgerCase[] = [...LISTS, ...GROUPS, ...REFUSALS]
