import type {
  EventFilter,
  EventGroup,
  EventQuery,
  EventRecord,
  FailedDelivery,
  Ledger,
  ParkTerms,
} from 'tix-webhooks'
import { type EventRow, isFinal, isLive, type Transition } from '../../../src/ledger/transition.js'
import type { KeyedCall } from '../../../testing/store-cases/model.js'
import { turns } from '../promises.js'
import { aheadMs, late } from './faulty-stores.js'
import { at, decided, type ModelStore } from './model-store.js'
import { type Faults, type Patch, patched } from './patched.js'

type LedgerPatch = Patch<ModelStore>
type Name = KeyedCall['do']

const ALL: readonly Name[] = ['claim', 'renew', 'complete', 'release', 'fail', 'keep', 'discard']
const FAILING: readonly Name[] = ['fail', 'keep']

/** Decides some calls in another way. */
function deciding(
  decide: (row: EventRow | undefined, call: KeyedCall, now: number) => Transition<unknown> | undefined,
): LedgerPatch {
  return () => ({ decide: (row, call, now) => decide(row, call, now) ?? decided(row, call, now) })
}

/** Writes more than it should, where a call of these writes. */
function writing(
  names: readonly Name[],
  change: (
    row: EventRow,
    call: KeyedCall,
    before: EventRow | undefined,
    now: number,
  ) => Partial<EventRow> | false | undefined,
): LedgerPatch {
  return deciding((before, call, now) => {
    const next = decided(before, call, now)
    if (!names.includes(call.do) || next.row === undefined || next.row === before) return next
    return { ...next, row: { ...next.row, ...change(next.row, call, before, now) } }
  })
}

/** Reads something else than is stored. */
function reading(
  names: readonly Name[],
  change: (row: EventRow, call: KeyedCall, now: number) => Partial<EventRow> | false,
): LedgerPatch {
  return deciding((row, call, now) => {
    if (row === undefined || !names.includes(call.do)) return undefined
    const read = { ...row, ...change(row, call, now) }
    const next = decided(read, call, now)
    return next.row === read ? { ...next, row } : next
  })
}

/** Keeps another delivery. */
function keeping(
  change: (failed: FailedDelivery, known: EventRow['failure']) => Partial<FailedDelivery> | false | undefined,
): LedgerPatch {
  return deciding((row, call, now) =>
    'failed' in call
      ? decided(row, { ...call, failed: { ...call.failed, ...change(call.failed, row?.failure) } }, now)
      : undefined,
  )
}

/** Parks by other limits. */
const parking = (change: (terms: ParkTerms, count: number, replays: number) => ParkTerms): LedgerPatch =>
  keeping(({ parkAfter = {} }, known) => ({
    parkAfter: change(parkAfter, (known?.count ?? 0) + 1, known?.replays ?? 0),
  }))

/** Says something else of events. */
function reads(change: (right: Ledger) => Partial<Ledger>): LedgerPatch {
  return ({ ledger }) => ({ ledger: patched({ ...ledger }, change) })
}

function returning(change: (event: EventRecord) => object | false | undefined): LedgerPatch {
  const changed = (event: EventRecord): EventRecord => ({ ...event, ...change(event) })
  return reads((right) => ({
    async get(key) {
      const event = await right.get(key)
      return event && changed(event)
    },
    list: async (query) => (await right.list(query)).map(changed),
  }))
}

/** Changes texts. */
const withTexts = (change: (text: string) => string): LedgerPatch =>
  returning(({ kind, failure }) => ({
    kind: change(kind),
    failure: failure && { ...failure, message: change(failure.message) },
  }))

/** Finds by another filter. */
const filtering = (change: (filter: EventFilter) => EventFilter): LedgerPatch =>
  reads((right) => ({
    list: ({ order, before, after, limit, bodies, ...filter } = {}) =>
      right.list({ ...change(filter), order, before, after, limit, bodies }),
    groups: ({ limit, ...filter } = {}) => right.groups({ ...change(filter), limit }),
    count: (filter = {}) => right.count(change(filter)),
  }))

/** Lists other pages. */
const querying = (change: (query: EventQuery) => EventQuery): LedgerPatch =>
  reads((right) => ({ list: (query = {}) => right.list({ ...query, ...change(query) }) }))

/** Lists by a wrong order. */
const ordering = (compare: (a: EventRecord, b: EventRecord) => number): LedgerPatch =>
  reads((right) => ({
    async list(query = {}) {
      const sorted = [...(await right.list({ ...query, limit: 1_000 }))].sort(compare)
      if (query.order !== 'oldest') sorted.reverse()
      return sorted.slice(0, query.limit ?? 100)
    },
  }))

/** Returns other groups. */
const grouping = (
  change: (group: EventGroup, right: Ledger, query: EventFilter) => Promise<object> | object,
): LedgerPatch =>
  reads((right) => ({
    async groups(query = {}) {
      const groups = await right.groups(query)
      return Promise.all(groups.map(async (group) => ({ ...group, ...(await change(group, right, query)) })))
    },
  }))

/** Returns nothing instead of an error. */
const ignoring = (method: keyof Ledger): LedgerPatch =>
  reads((right) => ({
    async [method](...given: unknown[]) {
      try {
        return await (right[method] as (...given: unknown[]) => unknown)(...given)
      } catch {
        return undefined
      }
    },
  }))

const ms = (date: Date): number => date.getTime()
const keptIn = (failure: EventRow['failure']) => failure as NonNullable<EventRow['failure']>
const isPast = (row: EventRow | undefined, now: number): boolean => !isLive(row, at(now))
const isOfOther = (row: EventRow | undefined, call: KeyedCall): boolean =>
  row !== undefined && 'token' in call && row.token !== call.token

const RULES: Faults<ModelStore> = {
  states: [
    returning(({ state }) => state === 'pending' && { state: 'running' }),
    returning(({ state }) => state === 'handled' && { expiresAt: undefined }),
    reads((right) => ({ get: async (key) => (await right.get(key)) ?? (null as never) })),
  ],
  'state-discarded': [
    writing(['complete'], () => ({ reason: undefined })),
    reading(['complete'], (row) => isFinal(row) && { state: 'released' }),
  ],
  'state-unclaimed': writing(
    ['complete'],
    (_, __, before) => before === undefined && { handledAt: undefined },
  ),
  fail: [
    writing(['fail'], () => ({ state: 'running' })),
    writing(['fail'], (_, __, before) => ({ failure: before?.failure })),
  ],
  'fail-resent': reading(['fail'], ({ state }) => state === 'released' && { state: 'running' }),
  'fail-unclaimed': deciding((row, { do: name }) =>
    row === undefined && name === 'fail' ? { row, answer: 'failing' } : undefined,
  ),
  'fail-late': deciding((row, call, now) =>
    row?.state === 'running' && call.do === 'fail' && row.leaseUntil <= now
      ? { row, answer: 'failing' }
      : undefined,
  ),
  'fail-lost': writing(['fail'], (_, call, before) => isOfOther(before, call) && { state: 'released' }),
  'fail-handled': reading(['fail', 'keep'], (row) => isFinal(row) && { state: 'released' }),
  'fail-token': writing(FAILING, () => ({ token: '' })),
  'complete-clears': [
    writing(['complete'], (_, __, before) => ({ failure: before?.failure })),
    writing(['complete'], ({ state }, _, before) => state === 'discarded' && { failure: before?.failure }),
  ],
  keep: [
    keeping((_, known) => known && { rawBody: known.delivery.rawBody }),
    keeping((failed, known) => ({ ...known?.delivery, ...failed })),
    writing(FAILING, ({ failure }, _, __, now) => ({ failure: { ...keptIn(failure), firstAt: now } })),
  ],
  'keep-replay': keeping(({ isReplay }, known) => ({ isReplay: isReplay && known !== undefined })),
  'keep-held': reading(['keep'], () => ({ leaseUntil: 0 })),
  'park-attempts': [
    parking(({ attempts, ...terms }) =>
      attempts === undefined ? terms : { ...terms, attempts: attempts + 1 },
    ),
    parking(({ attempts, ...terms }, _, replays) =>
      attempts === undefined ? terms : { ...terms, attempts: attempts - replays },
    ),
  ],
  'park-time': [
    parking(({ ms, ...terms }) => (ms === undefined ? terms : { ...terms, ms: ms + 300_000 })),
    // Counts from when the event was first seen.
    deciding((row, call, now) => {
      const limit = 'failed' in call && !call.failed.isReplay ? call.failed.parkAfter?.ms : undefined
      if (limit === undefined || row === undefined || now - row.receivedAt < limit || !('failed' in call))
        return undefined
      return decided(row, { ...call, failed: { ...call.failed, parkAfter: { attempts: 1 } } }, now)
    }),
  ],
  'park-either': parking(({ attempts, ...terms }) => (attempts === undefined ? terms : { attempts })),
  'park-never': parking((terms) => ({ ms: 12 * 3_600_000, ...terms })),
  'park-limits': parking(({ attempts, ...terms }, count) => (attempts === count ? { attempts } : terms)),
  'park-stays': writing(FAILING, ({ failure }, call) => {
    const { attempts = Infinity } = ('failed' in call ? call.failed.parkAfter : undefined) ?? {}
    return {
      failure: { ...keptIn(failure), state: keptIn(failure).count >= attempts ? 'parked' : 'failing' },
    }
  }),
  'park-claim': deciding((row, call, now) =>
    call.do === 'claim' && row?.failure !== undefined
      ? decided(row, { ...call, replay: { seen: row.failure.count + row.failure.replays } }, now)
      : undefined,
  ),
  'replay-fails': [
    writing(
      ['fail'],
      ({ failure }, call) =>
        'failed' in call && call.failed.isReplay && { failure: { ...keptIn(failure), state: 'parked' } },
    ),
    keeping(() => ({ isReplay: false })),
  ],
  'replay-seen': deciding((row, call, now) => {
    if (call.do !== 'claim' || call.replay === undefined) return undefined
    const { count = 0, replays = 0 } = row?.failure ?? {}
    return decided(row, { ...call, replay: { seen: isLive(row, at(now)) ? count + replays : 0 } }, now)
  }),
  retention: [
    writing(FAILING, (_, call, __, now) => 'failed' in call && { expiresAt: now + call.failed.retainMs }),
    writing(FAILING, (_, __, before) => before && { expiresAt: before.expiresAt }),
  ],
  'retention-replay': [
    writing(['claim'], (_, call, __, now) => call.do === 'claim' && { expiresAt: now + call.retainMs }),
    writing(['claim'], (_, call, before) => 'replay' in call && before && { expiresAt: before.expiresAt }),
  ],
  'retention-over': [
    writing(ALL, (_, __, before, now) => isPast(before, now) && before && { receivedAt: before.receivedAt }),
    writing(['claim'], (_, __, before, now) => isPast(before, now) && { failure: before?.failure }),
    writing(
      FAILING,
      ({ failure }, __, before, now) =>
        isPast(before, now) && {
          failure: { ...keptIn(failure), state: before?.failure?.state ?? 'failing' },
        },
    ),
  ],
  purge: [
    () => ({ mayPurge: ({ failure }) => failure !== undefined }),
    () => ({ mayPurge: ({ failure }) => failure?.state === 'parked' }),
  ],
  discard: [
    reading(['discard'], () => ({ leaseUntil: 0 })),
    writing(['discard'], (_, __, before) => ({ failure: before?.failure })),
    writing(['discard'], (_, __, ___, now) => ({ expiresAt: now + 1000 * 60_000 })),
  ],
  forget: [
    (right) => ({ forget: async (key) => (await right.forget(key)) || true }),
    (right) => ({ forget: async (key) => right.rows.get(key)?.failure !== undefined && right.forget(key) }),
  ],
  'clock-ahead, clock-behind': [
    (right) => ({ now: () => right.now() + aheadMs() }),
    writing(FAILING, ({ failure }) => ({
      failure: { ...keptIn(failure), lastAt: keptIn(failure).lastAt + aheadMs() },
    })),
  ],
  histories: writing(['release'], ({ attempt }) => attempt > 1 && { failure: undefined }),
}

/** Notes something at each delivery, and returns it. */
function noting(note: (failed: FailedDelivery) => Uint8Array): LedgerPatch {
  const notes = new Map<string, Uint8Array>()
  return (right) => ({
    ...returning(({ key }) => ({ rawBody: notes.get(key) }))(right),
    keep(failed) {
      notes.set(failed.key, note(failed))
      return right.keep(failed)
    },
  })
}

const CONTENTS: Faults<ModelStore> = {
  'bytes-none': returning(({ rawBody }) => rawBody?.length === 0 && { rawBody: undefined }),
  'bytes-any': keeping(({ rawBody }) => ({ rawBody: Buffer.from(Buffer.from(rawBody).toString()) })),
  'bytes-large': keeping(({ rawBody }) => ({ rawBody: rawBody.slice(0, 1_000_000) })),
  'bytes-view': (right) => ({
    keep: (failed) => right.keep({ ...failed, rawBody: new Uint8Array(failed.rawBody.buffer.slice(0)) }),
  }),
  'bytes-own': [noting(({ rawBody }) => rawBody), noting(({ rawBody }) => rawBody.slice())],
  'text-none': returning(({ orderId }) => ({ orderId: orderId ?? null })),
  'text-any': [
    withTexts((text) => text.replaceAll('🎟️', '?')),
    filtering(({ kind, ...filter }) => ({ ...filter, kind: kind?.toLowerCase() })),
    returning(({ reason }) => ({ reason: reason?.replaceAll('東', '?') })),
  ],
  'text-long': withTexts((text) => Buffer.from(text).subarray(0, 1_000).toString()),
  'text-odd': keeping(({ message }) => {
    if (message.includes('\0')) throw new Error('invalid byte sequence for encoding "UTF8": 0x00')
    return {}
  }),
  keys: [() => ({ keyOf: (key) => key.toLowerCase() }), () => ({ keyOf: (key) => key.slice(0, 254) })],
}

const LISTING: Faults<ModelStore> = {
  'list-fields': [
    reads((right) => ({
      list: async (query) => (await right.list(query)).map((one) => ({ ...one, size: 0 })),
    })),
    querying(() => ({ bodies: false })),
    reads((right) => ({
      list: async (query = {}) => right.list({ ...query, bodies: (query.limit ?? 20) <= 20 }),
    })),
  ],
  'list-order': [
    ordering((a, b) => ms(a.failure?.lastAt as Date) - ms(b.failure?.lastAt as Date)),
    querying(() => ({ order: 'newest' })),
  ],
  'list-pages, list-pages-oldest': ordering(
    (a, b) => ms(a.receivedAt) - ms(b.receivedAt) || a.key.localeCompare(b.key, 'en'),
  ),
  'list-pages': querying(({ before }) => ({
    before: before && 'key' in before ? before.receivedAt : before,
  })),
  'list-pages-oldest': querying(({ after }) => ({
    after: after && 'key' in after ? new Date(ms(after.receivedAt) - 1) : after,
  })),
  'list-between': querying(({ before }) => ({
    before: before instanceof Date ? new Date(ms(before) + 1) : before,
  })),
  'list-limit': [
    querying(({ limit = 1_000, bodies }) => (bodies ? {} : { limit })),
    querying(({ limit }) => ({ limit: limit && Math.min(limit, 100) })),
    reads((right) => ({ count: async (filter) => (await right.list(filter)).length })),
  ],
  'list-filters': [
    ...(['state', 'kind', 'account', 'namespace', 'group', 'eventId', 'orderId'] as const).map((name) =>
      filtering((filter) => ({ ...filter, [name]: undefined })),
    ),
    // Limits the list before the conditions.
    reads((right) => ({
      async list(query = {}) {
        const { order, limit, before, after } = query
        const page = new Set((await right.list({ order, limit, before, after })).map(({ key }) => key))
        return (await right.list({ ...query, limit: 1_000 })).filter(({ key }) => page.has(key))
      },
    })),
  ],
  'list-all': reads((right) => ({
    list: async (query = {}) => (Object.keys(query).length === 0 ? [] : right.list(query)),
  })),
  groups: [
    grouping(async ({ group }, right, query) => ({
      message: (await right.list({ ...query, group, order: 'oldest' }))[0]?.failure?.message,
    })),
    grouping(({ count }) => ({ failing: count })),
    grouping(() => ({ replays: 0 })),
    reads((right) => ({
      groups: async (query) => [...(await right.groups(query))].sort((a, b) => ms(b.firstAt) - ms(a.firstAt)),
    })),
  ],
  'groups-filter': [
    grouping(async ({ group }, right) => {
      const [newest] = await right.list({ group, limit: 1 })
      return { kind: newest?.kind, code: newest?.failure?.code, message: newest?.failure?.message }
    }),
    reads((right) => ({ groups: ({ limit, namespace } = {}) => right.groups({ limit, namespace }) })),
  ],
  'groups-limit': [
    reads((right) => ({ groups: (query) => right.groups({ ...query, limit: 1_000 }) })),
    reads((right) => ({
      groups: async ({ limit = 100, ...filter } = {}) =>
        (await right.groups({ ...filter, limit: 1_000 })).slice(-limit),
    })),
  ],
  ...Object.fromEntries(
    (['list', 'groups', 'count', 'get', 'discard'] as const).map((name) => [
      `invalid-${name}`,
      ignoring(name),
    ]),
  ),
}

const RACES: Faults<ModelStore> = {
  'race-keep, race-keep-claim, race-keep-complete, race-forget': late(['keep']),
  'race-fail-claim, race-fail-complete, race-fail-late': late(['fail']),
  'race-replays': late(['claim']),
  // Looks for a failure that was sent before, and then writes.
  'race-fail-resent': (right) => ({
    async fail(lease, failed) {
      const isResent = right.rows.get(lease.key)?.state === 'released'
      await turns(1)
      const row = right.rows.get(lease.key)
      if (row !== undefined && !isResent) right.rows.set(lease.key, { ...row, state: 'running' })
      return right.fail(lease, failed)
    },
  }),
  // Refuses to keep two at once.
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
  'race-forgets': (right) => ({
    async forget(key) {
      const isThere = right.rows.has(key)
      await turns(1)
      await right.forget(key)
      return isThere
    },
  }),
}

export const FAULTY_LEDGERS: Faults<ModelStore> = { ...RULES, ...CONTENTS, ...LISTING, ...RACES }
