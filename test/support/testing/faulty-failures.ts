import {
  type FailedDelivery,
  type Failure,
  type FailureFilter,
  type FailureGroup,
  type FailureQuery,
  type KeptFailures,
  memoryFailures,
} from 'tix-webhooks'
import type { FailureHarness } from 'tix-webhooks/testing'
import { turns } from '../promises.js'
import { type Faults, type Patch, patched } from './patched.js'

type FailuresPatch = Patch<KeptFailures>
type Limits = NonNullable<FailedDelivery['parkAfter']>

export function failureHarness(patch: FailuresPatch = () => ({})): FailureHarness {
  const failures = patched(memoryFailures(), patch)
  return {
    create: async () => failures,
    createSecond: async () => failures,
    purge: (options) => failures.purge(options),
  }
}

/** Return something else than they have kept. */
function returning(change: (failure: Failure) => object): FailuresPatch {
  const changed = (failure: Failure): Failure => ({ ...failure, ...change(failure) })
  return (right) => ({
    async get(key) {
      const failure = await right.get(key)
      return failure && changed(failure)
    },
    list: async (query) => (await right.list(query)).map(changed),
  })
}

/** Keep another delivery. */
function keeping(change: (failed: FailedDelivery, known: Failure | undefined) => object): FailuresPatch {
  return (right) => ({
    keep: async (failed) => right.keep({ ...failed, ...change(failed, await right.get(failed.key)) }),
  })
}

/** Keep other limits. */
function limiting(change: (limits: Limits, attempts: number) => Limits): FailuresPatch {
  return keeping(({ parkAfter = {} }, known) => ({
    parkAfter: change(parkAfter, (known?.attempts ?? 0) + 1),
  }))
}

/** Return fields that they note at each attempt, instead of what they have kept, and keep the notes when a failure is deleted. */
function noting(
  note: (failed: FailedDelivery, before: Partial<Failure>, after: Failure) => Partial<Failure>,
): FailuresPatch {
  return (right) => {
    const notes = new Map<string, Partial<Failure>>()
    return {
      ...returning(({ key }) => notes.get(key) ?? {})(right),
      async keep(failed) {
        const state = await right.keep(failed)
        const after = (await right.get(failed.key)) as Failure
        const noted = note(failed, notes.get(failed.key) ?? {}, after)
        notes.set(failed.key, noted)
        return noted.state ?? state
      },
    }
  }
}

/** Keep other keys. */
function storing(keyOf: (key: string) => string): FailuresPatch {
  return (right) => {
    const given = new Map<string, string>()
    return {
      keep(failed) {
        const key = keyOf(failed.key)
        given.set(key, failed.key)
        return right.keep({ ...failed, key })
      },
      async get(key) {
        const failure = await right.get(keyOf(key))
        return failure && { ...failure, key: given.get(failure.key) ?? '' }
      },
      delete: (key) => right.delete(keyOf(key)),
    }
  }
}

/** Change texts. */
const withTexts = (change: (text: string) => string): FailuresPatch =>
  returning(({ kind, message }) => ({ kind: change(kind), message: change(message) }))

/** Find by another filter. */
function filtering(change: (filter: FailureFilter) => FailureFilter): FailuresPatch {
  return (right) => ({
    list: ({ order, before, after, limit, ...filter } = {}) =>
      right.list({ ...change(filter), order, before, after, limit }),
    groups: ({ limit, ...filter } = {}) => right.groups({ ...change(filter), limit }),
    count: (filter = {}) => right.count(change(filter)),
  })
}

/** List other pages. */
const querying =
  (change: (query: FailureQuery) => FailureQuery): FailuresPatch =>
  (right) => ({ list: (query = {}) => right.list({ ...query, ...change(query) }) })

/** List by a wrong order. */
const ordering =
  (compare: (a: Failure, b: Failure) => number): FailuresPatch =>
  (right) => ({
    async list(query) {
      const sorted = [...(await right.list(query))].sort(compare)
      return query?.order === 'oldest' ? sorted : sorted.reverse()
    },
  })

/** Return other groups. */
function grouping(
  change: (group: FailureGroup, right: KeptFailures) => Promise<object> | object,
): FailuresPatch {
  return (right) => ({
    async groups(query) {
      const groups = await right.groups(query)
      return Promise.all(groups.map(async (group) => ({ ...group, ...(await change(group, right)) })))
    },
  })
}

/** Group only what is listed. */
const groupingListed =
  (list: (right: KeptFailures, query: FailureQuery) => Promise<readonly Failure[]>): FailuresPatch =>
  (right) => ({
    async groups(query = {}) {
      const seen = new Set((await list(right, query)).map(({ group }) => group))
      return (await right.groups(query)).filter(({ group }) => seen.has(group))
    },
  })

/** Return nothing for a wrong name. */
const ignoring =
  (method: 'list' | 'count' | 'groups'): FailuresPatch =>
  (right) => ({
    [method]: async (query: { event_id?: string } = {}) => {
      const { event_id: unknown, ...rest } = query
      return unknown === undefined ? right[method](rest) : []
    },
  })

const ms = (date: Date): number => date.getTime()

const KEEPING: Faults<KeptFailures> = {
  'keep-new': [
    (right) => ({ keep: async (failed) => void (await right.keep(failed)) as never }),
    returning(({ firstAt }) => ({ firstAt: firstAt.toISOString() })),
  ],
  'keep-absent': [returning(({ orderId }) => ({ orderId: orderId ?? null }))],
  'keep-again': [
    keeping((failed, known) => ({ ...known, ...failed })),
    keeping((_, known) => (known ? { rawBody: known.rawBody } : {})),
  ],
  'keep-dates': [
    noting(({ failedAt }) => ({ lastAt: failedAt })),
    noting(({ failedAt }, { firstAt = failedAt }) => ({ firstAt: failedAt < firstAt ? failedAt : firstAt })),
  ],
  'keep-replays': [
    returning(({ attempts, replays }) => ({ attempts: attempts - replays })),
    noting(({ isReplay }, before, { lastAt }) => (isReplay ? { lastReplayedAt: lastAt } : before)),
  ],
  'keep-replay-new': keeping(({ isReplay }, known) => ({ isReplay: isReplay && known !== undefined })),
  delete: [
    (right) => ({ delete: async (key) => (await right.delete(key)) || true }),
    noting((_, { attempts = 0 }) => ({ attempts: attempts + 1 })),
  ],
  keys: [storing((key) => key.toLowerCase()), storing((key) => key.slice(0, 254))],
  'park-attempts': limiting(({ attempts, ...limits }) =>
    attempts === undefined ? limits : { ...limits, attempts: attempts + 1 },
  ),
  'park-time': limiting((limits) => (limits.ms === undefined ? limits : { ...limits, ms: limits.ms + 1 })),
  'park-both': limiting(({ attempts, ...limits }) => (attempts === undefined ? limits : { attempts })),
  'park-never': limiting((limits) => ({ ms: 12 * 3_600_000, ...limits })),
  'park-limits': [limiting(({ attempts, ...limits }, now) => (attempts === now ? { attempts } : limits))],
  'park-late': noting(({ failedAt, parkAfter = {} }, _, { firstAt }) => ({
    state: ms(failedAt) - ms(firstAt) >= (parkAfter.ms ?? Infinity) ? 'parked' : 'failing',
  })),
  'park-stays': noting(({ parkAfter = {} }, _, { attempts }) => ({
    state: attempts >= (parkAfter.attempts ?? Infinity) ? 'parked' : 'failing',
  })),
}

const CONTENTS: Faults<KeptFailures> = {
  'bytes-none': returning(({ rawBody }) => ({ rawBody: rawBody.length === 0 ? undefined : rawBody })),
  'bytes-any': keeping(({ rawBody }) => ({ rawBody: Buffer.from(Buffer.from(rawBody).toString()) })),
  'bytes-large': keeping(({ rawBody }) => ({ rawBody: rawBody.slice(0, 1_000_000) })),
  'bytes-view': keeping(({ rawBody }) => ({ rawBody: new Uint8Array(rawBody.buffer.slice(0)) })),
  'bytes-own': [
    noting(({ rawBody }) => ({ rawBody })),
    noting((_failed, _before, { rawBody }) => ({ rawBody })),
  ],
  'text-any': [
    withTexts((text) => text.replaceAll('🎟️', '?')),
    filtering(({ kind, ...filter }) => ({ ...filter, kind: kind?.toLowerCase() })),
  ],
  'text-long': withTexts((text) => Buffer.from(text).subarray(0, 1_000).toString()),
  'text-odd': [
    keeping(({ message }) => {
      if (message.includes('\0')) throw new Error('invalid byte sequence for encoding "UTF8": 0x00')
      return {}
    }),
  ],
}

const LISTING: Faults<KeptFailures> = {
  'list-fields, bytes-any': (right) => ({
    list: async (query) => (await right.list(query)).map((one) => ({ ...one, rawBody: new Uint8Array() })),
  }),
  'list-order': [ordering((a, b) => ms(a.firstAt) - ms(b.firstAt)), querying(() => ({ order: 'newest' }))],
  'list-ties': ordering((a, b) => ms(a.lastAt) - ms(b.lastAt) || a.key.localeCompare(b.key, 'en')),
  'list-pages': querying(({ before }) => ({ before: before && 'lastAt' in before ? before.lastAt : before })),
  'list-pages-oldest': querying(({ after }) => ({
    after: after && 'lastAt' in after ? new Date(ms(after.lastAt) - 1) : after,
  })),
  'list-between': [
    querying(({ before }) => ({ before: before instanceof Date ? new Date(ms(before) + 1) : before })),
  ],
  'list-limit': [
    querying(({ limit = 1_000 }) => ({ limit })),
    querying(({ limit }) => ({ limit: limit && Math.min(limit, 100) })),
    (right) => ({ count: async (filter) => (await right.list(filter)).length }),
  ],
  'list-filters': [
    ...(['state', 'kind', 'account', 'namespace', 'group', 'eventId', 'orderId'] as const).map((name) =>
      filtering((filter) => ({ ...filter, [name]: undefined })),
    ),
    // Limits the list before the conditions.
    (right) => ({
      async list(query = {}) {
        const { order, limit, before, after } = query
        const page = new Set((await right.list({ order, limit, before, after })).map(({ key }) => key))
        return (await right.list({ ...query, limit: 1_000 })).filter(({ key }) => page.has(key))
      },
    }),
  ],
  'list-all': (right) => ({
    list: async (query = {}) => (Object.keys(query).length === 0 ? [] : right.list(query)),
  }),
  'invalid-list': ignoring('list'),
  'invalid-groups': ignoring('groups'),
  'invalid-count': ignoring('count'),
}

const GROUPS: Faults<KeptFailures> = {
  groups: [
    grouping(async ({ group }, right) => {
      const [first] = await right.list({ group, order: 'oldest' })
      return { message: first?.message }
    }),
    grouping(async ({ group }, right) => {
      const all = await right.list({ group, limit: 1_000 })
      return { count: all.reduce((sum, { attempts }) => sum + attempts, 0) }
    }),
    (right) => ({
      groups: async (query) => [...(await right.groups(query))].sort((a, b) => ms(b.firstAt) - ms(a.firstAt)),
    }),
  ],
  'groups-filter': [
    grouping(async ({ group }, right) => {
      const [newest] = await right.list({ group, limit: 1 })
      return { kind: newest?.kind, code: newest?.code, message: newest?.message }
    }),
    (right) => ({ groups: ({ limit, namespace } = {}) => right.groups({ limit, namespace }) }),
  ],
  'groups-limit': [
    groupingListed((right, query) => right.list(query)),
    (right) => ({ groups: (query) => right.groups({ ...query, limit: 1_000 }) }),
    (right) => ({
      groups: async ({ limit = 100, ...filter } = {}) =>
        (await right.groups({ ...filter, limit: 1_000 })).slice(-limit),
    }),
  ],
}

/** Delete the first of these, and as many as the limit. */
function purging(
  pick: (all: readonly Failure[]) => readonly Failure[],
  isLimited: boolean = true,
): FailuresPatch {
  return (right) => ({
    async purge({ limit = 1_000 } = {}) {
      const all = await right.list({ order: 'oldest', limit: 1_000 })
      const old = pick(all).slice(0, isLimited ? limit : 1_000)
      for (const { key } of old) await right.delete(key)
      return old.length
    },
  })
}

const isOld = (date: Date): boolean => ms(date) < Date.now() - 30 * 24 * 3_600_000
const oldOf = (all: readonly Failure[]): Failure[] => all.filter(({ lastAt }) => isOld(lastAt))

const PURGES_AND_RACES: Faults<KeptFailures> = {
  'purge-retention': [
    purging((all) => all.filter(({ firstAt }) => isOld(firstAt))),
    purging((all) => oldOf(all).filter(({ state }) => state === 'failing')),
  ],
  'purge-limit': [
    purging(oldOf, false),
    purging((all) => oldOf(all).sort((a, b) => (a.key < b.key ? -1 : 1))),
  ],
  // Read, then write.
  'race-keep, race-delete': (right) => {
    const attempts = new Map<string, number>()
    return {
      ...returning(({ key }) => ({ attempts: attempts.get(key) }))(right),
      async keep(failed) {
        const known = attempts.get(failed.key) ?? 0
        await turns(1)
        attempts.set(failed.key, known + 1)
        return right.keep(failed)
      },
      delete(key) {
        attempts.delete(key)
        return right.delete(key)
      },
    }
  },
  // Refuse to keep two at once.
  'race-keys': (right) => {
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
  },
  'race-deletes': (right) => ({
    async delete(key) {
      const isThere = (await right.get(key)) !== undefined
      await turns(1)
      await right.delete(key)
      return isThere
    },
  }),
}

export const FAULTY_FAILURES: Faults<KeptFailures> = {
  ...KEEPING,
  ...CONTENTS,
  ...LISTING,
  ...GROUPS,
  ...PURGES_AND_RACES,
}
