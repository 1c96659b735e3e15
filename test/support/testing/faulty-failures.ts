import type { FailedDelivery, Failure, FailureFilter, FailureQuery } from 'tix-webhooks'
import type { FailureHarness } from 'tix-webhooks/testing'
import { turns } from '../promises.js'
import { type Fault, faultOf, type Patch, patched } from './patched.js'
import { PlainFailures } from './plain-failures.js'

const fault = faultOf<PlainFailures>

export function failureHarness(patch: Patch<PlainFailures> = () => ({})): FailureHarness {
  const failures = patched(new PlainFailures(), patch)
  return {
    create: async () => failures,
    createSecond: async () => failures,
    purge: (options) => failures.purge(options),
  }
}

/** Failures that return something else than they have kept. */
function returning(
  what: string,
  seenBy: string | readonly string[],
  change: (failure: Failure) => object,
): Fault<PlainFailures> {
  return fault(what, seenBy, (right) => ({
    returned: (failure) => ({ ...right.returned(failure), ...change(failure) }),
  }))
}

/** Failures that change texts. */
function withTexts(what: string, seenBy: string, change: (text: string) => string): Fault<PlainFailures> {
  return returning(what, seenBy, ({ kind, message }) => ({ kind: change(kind), message: change(message) }))
}

/** Failures that keep other bytes. */
function storing(what: string, seenBy: string, stored: PlainFailures['stored']): Fault<PlainFailures> {
  return fault(what, seenBy, () => ({ stored }))
}

const anHour = 3_600_000

/** Failures that have kept these. */
function holding(page: Iterable<Failure>): PlainFailures {
  const failures = new PlainFailures()
  for (const one of page) failures.kept.set(one.key, one)
  return failures
}

/** The first page of a backend whose pages are a megabyte. */
function firstMegabyte(all: Iterable<Failure>): Failure[] {
  let bytes = 0
  return [...all].filter(({ rawBody }) => {
    bytes += rawBody.length
    return bytes - rawBody.length < 1_000_000
  })
}

export const FAULTY_FAILURES: readonly Fault<PlainFailures>[] = [
  fault('return nothing from keep', 'keep-new', (right) => ({
    keep: async (failed) => void (await right.keep(failed)) as never,
  })),
  returning('keep whole seconds', 'keep-new', ({ lastAt }) => ({
    lastAt: new Date(Math.floor(lastAt.getTime() / 1000) * 1000),
  })),
  returning('return dates as text', 'keep-new', ({ firstAt }) => ({ firstAt: firstAt.toISOString() })),
  returning('return null for what is absent', 'keep-absent', ({ orderId }) => ({ orderId: orderId ?? null })),
  returning('return no message if it is empty', 'keep-absent', ({ message }) => ({
    message: message === '' ? undefined : message,
  })),
  fault('keep the fields that a later attempt lacks', 'keep-again', (right) => ({
    next: (known, failed) => ({ ...known, ...right.next(known, failed) }),
  })),
  fault('keep the first body', 'keep-again', (right) => ({
    next: (known, failed) => ({ ...right.next(known, failed), ...(known && { rawBody: known.rawBody }) }),
  })),
  fault('take the last date from each attempt', 'keep-dates', () => ({ lastAt: (_, failedAt) => failedAt })),
  fault('take the first date from an attempt before it', 'keep-dates', (right) => ({
    next(known, failed) {
      const next = right.next(known, failed)
      return { ...next, firstAt: failed.failedAt < next.firstAt ? failed.failedAt : next.firstAt }
    },
  })),
  fault('do not count a replay as an attempt', 'keep-replays', (right) => ({
    next(known, failed) {
      const next = right.next(known, failed)
      return { ...next, attempts: next.attempts - next.replays }
    },
  })),
  fault('date a replay by the last failure', 'keep-replays', (right) => ({
    next(known, failed) {
      const next = right.next(known, failed)
      return failed.isReplay ? { ...next, lastReplayedAt: next.lastAt } : next
    },
  })),
  fault('keep the latest date of all replays', 'keep-replays', (right) => ({
    next(known, failed) {
      const next = right.next(known, failed)
      const before = known?.lastReplayedAt
      const isLate = before !== undefined && next.lastReplayedAt !== undefined && before > next.lastReplayedAt
      return isLate ? { ...next, lastReplayedAt: before } : next
    },
  })),
  fault('count only a replay of what is there', 'keep-replay-new', (right) => ({
    next: (known, failed) => ({ ...right.next(known, failed), ...(known ? {} : { replays: 0 }) }),
  })),
  fault('return true from each delete', 'delete', (right) => ({
    delete: async (key) => (await right.delete(key)) || true,
  })),
  fault('continue to count after a delete', 'delete', (right) => {
    const deleted = new Map<string, Failure | undefined>()
    return {
      delete: async (key) => {
        deleted.set(key, (await right.get(key)) ?? deleted.get(key))
        return right.delete(key)
      },
      next: (known, failed) => right.next(known ?? deleted.get(failed.key), failed),
    }
  }),
  fault('compare keys without case', 'keys', () => ({ keyOf: (key) => key.toLowerCase() })),
  fault('cut keys to 254 characters', 'keys', () => ({ keyOf: (key) => key.slice(0, 254) })),
  fault('compare keys without the spaces around them', 'keys', () => ({ keyOf: (key) => key.trim() })),
  fault('park one attempt late', 'park-attempts', (right) => ({
    isParked: (known, facts) => right.isParked(known, { ...facts, attempts: facts.attempts - 1 }),
  })),
  fault('park a millisecond late', 'park-time', (right) => ({
    isParked: (known, facts) => right.isParked(known, { ...facts, ms: facts.ms - 1 }),
  })),
  fault('park by attempts alone if there are both limits', 'park-both', (right) => ({
    isParked: (known, { limits: { attempts, ms }, ...facts }) =>
      right.isParked(known, {
        ...facts,
        limits: attempts === undefined ? { ...(ms && { ms }) } : { attempts },
      }),
  })),
  fault('park after twelve hours if there is no limit', 'park-never', (right) => ({
    isParked: (known, { limits, ...facts }) =>
      right.isParked(known, { ...facts, limits: { ms: 12 * anHour, ...limits } }),
  })),
  fault('park at the limit, but not above it', 'park-limits', (right) => ({
    isParked: (known, facts) =>
      right.isParked(known, {
        ...facts,
        attempts: facts.attempts === facts.limits.attempts ? facts.attempts : 0,
      }),
  })),
  fault('park by the limits of the first attempt', 'park-limits', (right) => {
    const limits = new Map<string, NonNullable<FailedDelivery['parkAfter']>>()
    return {
      next(known, failed) {
        const parkAfter = (known && limits.get(failed.key)) ?? failed.parkAfter ?? {}
        limits.set(failed.key, parkAfter)
        return right.next(known, { ...failed, parkAfter })
      },
    }
  }),
  fault('park by the lowest limit so far', 'park-limits', (right) => {
    const lowest = new Map<string, number>()
    return {
      next(known, failed) {
        const before = (known && lowest.get(failed.key)) ?? Number.POSITIVE_INFINITY
        const attempts = Math.min(before, failed.parkAfter?.attempts ?? before)
        lowest.set(failed.key, attempts)
        return right.next(known, { ...failed, parkAfter: { ...failed.parkAfter, attempts } })
      },
    }
  }),
  fault('park by the date of the attempt', 'park-late', (right) => ({
    next(known, failed) {
      const next = right.next(known, failed)
      const ms = failed.failedAt.getTime() - next.firstAt.getTime()
      const facts = { attempts: next.attempts, ms, limits: failed.parkAfter ?? {} }
      return { ...next, state: right.isParked(known, facts) ? 'parked' : 'failing' }
    },
  })),
  fault('decide anew at each attempt', 'park-stays', (right) => ({
    isParked: (_, facts) => right.isParked(undefined, facts),
  })),
  returning('return no body if it is empty', 'bytes-none', ({ rawBody }) => ({
    rawBody: rawBody.length === 0 ? undefined : rawBody,
  })),
  storing('keep bodies as text', 'bytes-any', (rawBody) =>
    new TextEncoder().encode(new TextDecoder().decode(rawBody)),
  ),
  storing('cut bodies to a million bytes', 'bytes-large', (rawBody) => rawBody.slice(0, 1_000_000)),
  storing('keep the whole buffer', 'bytes-view', ({ buffer }) => new Uint8Array(buffer.slice(0))),
  storing('keep the buffer of the caller', 'bytes-own', (rawBody) => rawBody),
  returning('return the buffer that is kept', 'bytes-own', ({ rawBody }) => ({ rawBody })),
  withTexts('keep no emoji', 'text-any', (text) => text.replaceAll('🎟️', '?')),
  withTexts('end a text at a quote', 'text-any', (text) => text.split("'")[0] ?? ''),
  fault('find by lower case', 'text-any', (right) => ({
    matches: (failure, { kind, ...filter }) =>
      right.matches(failure, filter) && (kind === undefined || failure.kind.toLowerCase() === kind),
  })),
  withTexts('cut texts to 1,000 bytes', 'text-long', (text) =>
    new TextDecoder().decode(new TextEncoder().encode(text).slice(0, 1_000)),
  ),
  fault('refuse NUL', 'text-odd', (right) => ({
    async keep(failed) {
      if (failed.message.includes('\0')) throw new Error('invalid byte sequence for encoding "UTF8": 0x00')
      return right.keep(failed)
    },
  })),
  withTexts('end a text at NUL', 'text-odd', (text) => text.split('\0')[0] ?? ''),
  fault('replace NUL, but not in a query', 'text-odd', (right) => ({
    next: (known, failed) => ({ ...right.next(known, failed), kind: failed.kind.replaceAll('\0', '') }),
  })),
  fault('list without the bytes', ['list-fields', 'bytes-any'], (right) => ({
    list: async (query) => (await right.list(query)).map((one) => ({ ...one, rawBody: new Uint8Array() })),
  })),
  fault('list by the first failure', 'list-order', () => ({
    compare: (a, b) => a.firstAt.getTime() - b.firstAt.getTime(),
  })),
  fault('list in one order', 'list-order', (right) => ({
    list: (query) => right.list({ ...query, order: 'newest' }),
  })),
  fault('order keys as a language does', 'list-ties', (right) => ({
    compare: (a, b) =>
      a.lastAt < b.lastAt || a.lastAt > b.lastAt ? right.compare(a, b) : a.key.localeCompare(b.key, 'en'),
  })),
  fault('begin a page at an earlier date', 'list-pages', () => ({
    isBelow: (one, bound) => one.atMs < bound.atMs,
  })),
  fault('begin a page at the same date', 'list-pages-oldest', () => ({
    isAbove: (one, bound) => one.atMs >= bound.atMs,
  })),
  fault('list what failed at the date itself', 'list-between', (right) => ({
    isBelow: (one, bound) => right.isBelow(one, bound) || (bound.key === '' && one.atMs === bound.atMs),
  })),
  fault('take one of before and after', 'list-between', (right) => ({
    list: ({ after, ...query }: { after?: unknown; before?: unknown } = {}) =>
      right.list(query.before === undefined ? { ...query, after } : query),
  })),
  fault('list all if there is no limit', 'list-limit', (right) => ({
    list: (query) => right.list({ limit: 1_000, ...query }),
  })),
  fault('list 100 at most', 'list-limit', (right) => ({
    list: async (query) => (await right.list(query)).slice(0, 100),
  })),
  ...(['state', 'kind', 'account', 'namespace', 'group', 'eventId', 'orderId'] as const).map((name) =>
    fault(`do not look at the ${name}`, 'list-filters', (right) => ({
      matches: (failure, { [name]: _, ...filter }) => right.matches(failure, filter),
    })),
  ),
  fault('take an empty condition for none', 'list-filters', (right) => ({
    matches: (failure, { kind, ...filter }) => right.matches(failure, { ...filter, ...(kind && { kind }) }),
  })),
  fault('count the page', ['list-limit'], (right) => ({
    count: async (filter) => (await right.list(filter)).length,
  })),
  fault('limit the list before the conditions', 'list-filters', (right) => ({
    async list({ order, limit, before, after, ...filter }: FailureQuery = {}) {
      return holding(await right.list({ order, limit, before, after })).list({ order, limit, ...filter })
    },
  })),
  ...(['list', 'count', 'groups'] as const).map((method) =>
    fault(
      `read a megabyte for ${method}`,
      method === 'groups' ? 'groups-limit' : 'list-limit',
      ({ kept }) => ({
        [method]: async (query?: object) => holding(firstMegabyte(kept.values()))[method](query),
      }),
    ),
  ),
  fault('find namespaces that begin alike', ['list-filters', 'groups-filter'], (right) => ({
    matches: (failure, { namespace = '', ...filter }) =>
      right.matches(failure, filter) && failure.namespace.startsWith(namespace),
  })),
  fault('count namespaces that begin alike', 'list-filters', (right) => ({
    async count({ namespace = '', ...filter }: FailureFilter = {}) {
      return holding([...right.kept.values()].filter((one) => one.namespace.startsWith(namespace))).count(
        filter,
      )
    },
  })),
  fault('need a filter', 'list-all', (right) => ({
    matches: (failure, filter) => Object.keys(filter).length > 0 && right.matches(failure, filter),
  })),
  fault('take the first failure of a group as its example', 'groups', (right) => ({
    grouped: (all) => ({ ...right.grouped(all), message: all[0]?.message ?? '' }),
  })),
  fault('take the example of a group from all failures', 'groups-filter', (right) => ({
    grouped(all) {
      const whole = [...right.kept.values()].filter(({ group }) => group === all[0]?.group)
      const { kind, code, message } = right.grouped(whole)
      return { ...right.grouped(all), kind, code, message }
    },
  })),
  fault('order groups by their first failure', 'groups', (right) => ({
    async groups({ limit, ...filter }: { limit?: number } = {}) {
      const { length } = await right.groups({ limit, ...filter } as object)
      const all = await right.groups({ ...filter, limit: 1_000 })
      return [...all].sort((a, b) => b.firstAt.getTime() - a.firstAt.getTime()).slice(0, length)
    },
  })),
  fault('date a group by its latest failure', 'groups', (right) => ({
    grouped: (all) => ({ ...right.grouped(all), firstAt: right.grouped(all).lastAt }),
  })),
  fault('count the attempts of a group', 'groups', (right) => ({
    grouped: (all) => ({
      ...right.grouped(all),
      count: all.reduce((sum, { attempts }) => sum + attempts, 0),
    }),
  })),
  fault('group without a look at the filter', 'groups-filter', (right) => ({
    groups: async ({ limit, ...filter }: { limit?: number; namespace?: string } = {}) =>
      right.groups({ ...(limit && { limit }), namespace: filter.namespace } as object),
  })),
  fault('group only as many failures as the limit', 'groups-limit', (right) => ({
    groups: async (query) => holding(await right.list(query)).groups(query),
  })),
  fault('return all groups', 'groups-limit', (right) => ({
    groups: (query) => right.groups({ ...query, limit: 1_000 }),
  })),
  fault('list the oldest groups', 'groups-limit', (right) => ({
    groups: async ({ limit = 100, ...filter } = {}) =>
      (await right.groups({ ...filter, limit: 1_000 })).slice(-limit),
  })),
  fault('purge by the first failure', 'purge-retention', (right) => ({
    isOld: ({ firstAt, ...rest }) => right.isOld({ ...rest, firstAt, lastAt: firstAt }),
  })),
  fault('purge nothing that is parked', 'purge-retention', (right) => ({
    isOld: (failure) => failure.state === 'failing' && right.isOld(failure),
  })),
  fault('purge without a look at the limit', 'purge-limit', (right) => ({
    purge: () => right.purge({ limit: 1_000 }),
  })),
  fault('purge in the order of the keys', 'purge-limit', () => ({
    compare: (a, b) => (a.key < b.key ? -1 : 1),
  })),
  fault('read, then write', 'race-keep', (right) => ({
    async keep(failed) {
      const next = right.next(await right.get(failed.key), failed)
      await turns(1)
      right.kept.set(failed.key, next)
      return next.state
    },
  })),
  fault('refuse to keep two at once', 'race-keys', (right) => {
    let isBusy = false
    return {
      async keep(failed) {
        if (isBusy) throw new Error('database is locked')
        isBusy = true
        await turns(1)
        isBusy = false
        return right.keep(failed)
      },
    }
  }),
  fault('read an attempt that a delete then removes', 'race-delete', (right) => ({
    async keep(failed) {
      const known = right.kept.get(failed.key)
      await turns(1)
      const next = right.next(known, failed)
      right.kept.set(failed.key, next)
      return next.state
    },
  })),
  fault('read, then delete', 'race-deletes', (right) => ({
    async delete(key) {
      const isThere = right.kept.has(key)
      await turns(1)
      right.kept.delete(key)
      return isThere
    },
  })),
  ...(['list', 'groups', 'count'] as const).map((method) =>
    fault(`return nothing for a ${method} with a wrong name`, `invalid-${method}`, (right) => ({
      [method]: async (query: { event_id?: string } = {}) => {
        const { event_id: unknown, ...rest } = query
        return unknown === undefined ? right[method](rest) : []
      },
    })),
  ),
]
