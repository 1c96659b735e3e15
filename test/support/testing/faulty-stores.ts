import type { ClaimResult } from 'tix-webhooks'
import { type EventRow, isLive as isLiveAt, type LedgerAnswer } from '../../../src/ledger/transition.js'
import type { KeyedCall } from '../../../testing/store-cases/model.js'
import { turns } from '../promises.js'
import { at, decided, type ModelStore } from './model-store.js'
import type { Faults, Patch } from './patched.js'

type Decide = ModelStore['decide']
/** The methods of every store. */
type Method = 'claim' | 'renew' | 'complete' | 'release'
type CallOf<Name extends Method> = Extract<KeyedCall, { readonly do: Name }> & { readonly key: string }

const METHODS: readonly Method[] = ['claim', 'renew', 'complete', 'release']
const MINUTE = 60_000
const MAX_INT = 2 ** 31 - 1

/** Decides calls of one method in another way. */
function on<Name extends Method>(
  name: Name,
  decide: (record: EventRow | undefined, call: CallOf<Name>, now: number) => ReturnType<Decide>,
): Patch<ModelStore> {
  return () => ({
    decide: (record, call, now) =>
      call.do === name ? decide(record, call as CallOf<Name>, now) : decided(record, call, now),
  })
}

/** Reads something else than is stored, in calls of one method or in all. */
function reading<Name extends Method>(
  name: Name | 'all',
  change: (record: EventRow, call: CallOf<Name>, now: number) => Partial<EventRow> | false,
): Patch<ModelStore> {
  return () => ({
    decide(record, call, now) {
      if (record === undefined || (name !== 'all' && call.do !== name)) return decided(record, call, now)
      const read = { ...record, ...change(record, call as CallOf<Name>, now) }
      const next = decided(read, call, now)
      return next.row === read ? { ...next, row: record } : next
    },
  })
}

/** Changes the arguments of a call that finds a record. */
function asking<Name extends Method>(
  name: Name,
  change: (record: EventRow, call: CallOf<Name>, now: number) => Partial<CallOf<Name>> | false,
): Patch<ModelStore> {
  return on(name, (record, call, now) =>
    decided(
      record,
      isLive(record, now) ? ({ ...call, ...change(record, call, now) } as KeyedCall) : call,
      now,
    ),
  )
}

/** Returns an answer of its own, and writes nothing, if there is no record. */
function withoutRecord(name: Method, answer: boolean): Patch<ModelStore> {
  return on(name, (record, call, now) =>
    isLive(record, now) ? decided(record, call, now) : { row: record, answer },
  )
}

/** Writes more than it should after an answer. */
function writing<Name extends Method>(
  name: Name,
  after: boolean | ClaimResult['status'],
  change: (record: EventRow, call: CallOf<Name>, now: number) => Partial<EventRow>,
): Patch<ModelStore> {
  return on(name, (stored, call, now) => {
    const { row, answer } = decided(stored, call, now)
    const isDue = row !== undefined && (typeof answer === 'object' ? answer.status : answer) === after
    return { answer, row: isDue ? { ...row, ...change(row, call, now) } : row }
  })
}

/** Returns something else. */
function answering<Name extends Method>(
  name: Name,
  change: (
    answer: LedgerAnswer,
    record: EventRow | undefined,
    call: CallOf<Name>,
    now: number,
  ) => object | number,
): Patch<ModelStore> {
  return on(name, (record, call, now) => {
    const next = decided(record, call, now)
    return { ...next, answer: change(next.answer, record, call, now) }
  })
}

/** Returns another time to a claim that finds the record held. */
function answeringHeld(
  restMs: (record: EventRow, call: CallOf<'claim'>, now: number, right: number) => number,
): Patch<ModelStore> {
  return answering('claim', (answer, record, call, now) => {
    if (typeof answer !== 'object' || !('retryAfterMs' in answer) || record === undefined)
      return Object(answer)
    return { ...answer, retryAfterMs: restMs(record, call, now, answer.retryAfterMs) }
  })
}

/** Stores other keys. */
const storing =
  (keyOf: ModelStore['keyOf']): Patch<ModelStore> =>
  () => ({ keyOf })

/** Stores other tokens. */
const holding =
  (tokenOf: ModelStore['tokenOf']): Patch<ModelStore> =>
  () => ({ tokenOf })

/** Does something around each call of these methods. */
function around(
  names: readonly (Method | 'fail' | 'keep')[],
  act: (right: ModelStore, key: string, call: () => Promise<unknown>) => Promise<unknown>,
): Patch<ModelStore> {
  type Call = (subject: { readonly key: string }, ...more: unknown[]) => Promise<unknown>
  return (right) => {
    const methods = names.map((name): [string, Call] => {
      const call = right[name] as Call
      return [name, (subject, ...more) => act(right, subject.key, () => call(subject, ...more))]
    })
    return Object.fromEntries(methods)
  }
}

/** Writes a turn later what it has read. */
export function late(
  names: Parameters<typeof around>[0],
  isLate: (record: EventRow | undefined, now: number) => boolean = always,
): Patch<ModelStore> {
  return around(names, async (right, key, call) => {
    const read = right.rows.get(key)
    const isRestored = isLate(read, right.now())
    await turns(1)
    if (isRestored && read === undefined) right.rows.delete(key)
    if (isRestored && read !== undefined) right.rows.set(key, read)
    return call()
  })
}

/** As `late`, but its calls wait for one another, and not for those of another process. */
function lateInItsMutex(...names: readonly Method[]): Patch<ModelStore> {
  return (right) => {
    let last: Promise<unknown> = Promise.resolve()
    const alone = around(METHODS, (_right, _key, call) => {
      last = last.then(() => turns(1)).then(call)
      return last
    })
    return alone({ ...right, ...late(names, always)(right) })
  }
}

const isLive = (row: EventRow | undefined, now: number): row is EventRow => isLiveAt(row, at(now))
const always = (): boolean => true
const isOver = ({ leaseUntil }: EventRow, now: number): boolean => leaseUntil <= now
const isOwn = ({ token }: EventRow, call: KeyedCall): boolean => 'token' in call && token === call.token
/** A record that any token may take. */
const FREE: Partial<EventRow> = { state: 'released', token: '' }
/** A call that is refused. */
const OF_NOBODY = { token: 'nobody' }

/** The time of `Date.now` without a fake clock. */
const { now: rightNow } = Date
/** How far the clock of the calling process is ahead. */
export const aheadMs = (): number => Date.now() - rightNow()

const CLAIMS: Faults<ModelStore> = {
  'claim-fresh': [
    answering('claim', (answer) => ({ ...Object(answer), attempt: Object(answer).attempt - 1 })),
    // As drivers return a bigint.
    answering('claim', (answer) => ({ ...Object(answer), attempt: String(Object(answer).attempt) })),
  ],
  'claim-held': [
    answeringHeld((_, { leaseMs }) => leaseMs),
    // Seconds instead of milliseconds.
    answeringHeld((_, _call, _now, right) => right / 1000),
    reading('claim', (_, _call, now) => ({ leaseUntil: now })),
  ],
  'claim-held-kept': [
    writing('claim', 'in_flight', (_, { leaseMs }, now) => ({ leaseUntil: now + leaseMs })),
  ],
  'claim-completed': reading(
    'claim',
    (record, _, now) => record.state === 'handled' && isOver(record, now) && FREE,
  ),
  'claim-released': [
    reading('claim', ({ state }) => state === 'released' && { state: 'running', token: '' }),
    on('release', (record, call, now) => {
      const next = decided(record, call, now)
      return next.answer === true ? { ...next, row: undefined } : next
    }),
  ],
  'claim-takeover': [
    reading('claim', ({ leaseUntil }, _, now) => ({ leaseUntil: Math.max(leaseUntil, now + 1) })),
    reading('claim', (record, _, now) => isOver(record, now + 10 * MINUTE) && { leaseUntil: now }),
  ],
  'claim-attempts': reading('claim', (record, call) => !isOwn(record, call) && { attempt: 1 }),
  // Gives every claim the lease of the first.
  'claim-terms': (right) => {
    let first: number | undefined
    return on('claim', (record, call, now) => {
      first ??= call.leaseMs
      return decided(record, { ...call, leaseMs: first }, now)
    })(right)
  },
  'claim-resent': reading('claim', (record, call) => isOwn(record, call) && { attempt: record.attempt + 1 }),
  'claim-resent-lease': asking(
    'claim',
    (record, call, now) => isOwn(record, call) && { leaseMs: record.leaseUntil - now },
  ),
  'claim-resent-late': reading(
    'claim',
    (record, call, now) => isOwn(record, call) && isOver(record, now) && { attempt: record.attempt + 1 },
  ),
  'claim-resent-released': [
    reading(
      'claim',
      (record, call) => record.state === 'released' && isOwn(record, call) && { state: 'running' },
    ),
    answeringHeld(({ leaseUntil }, _, now) => leaseUntil - now),
  ],
  // Grants every claim whose token it has seen.
  'claim-resent-taken-over': (right) => {
    const seen = new Set<string>()
    return reading('claim', ({ state, token }, call) => {
      const isSeen = seen.has(call.token) && state === 'running'
      seen.add(call.token).add(token)
      return isSeen && { token: call.token }
    })(right)
  },
  'claim-resent-completed': reading(
    'claim',
    (record, call) => record.state === 'handled' && isOwn(record, call) && { state: 'running' },
  ),
}

const HOLDING: Faults<ModelStore> = {
  'renew-holder': [
    asking('renew', ({ leaseUntil }, { leaseMs }, now) => ({ leaseMs: leaseMs + leaseUntil - now })),
    asking('renew', ({ leaseUntil }, _, now) => ({ leaseMs: leaseUntil - now })),
    answering('renew', Number),
  ],
  'renew-shorter': asking('renew', ({ leaseUntil }, { leaseMs }, now) => ({
    leaseMs: Math.max(leaseMs, leaseUntil - now),
  })),
  'renew-late': asking('renew', (record, _, now) => isOver(record, now) && OF_NOBODY),
  'renew-stranger': asking('renew', ({ token }) => ({ token })),
  'renew-taken-over': writing('renew', false, (_, { leaseMs }, now) => ({ leaseUntil: now + leaseMs })),
  'renew-released': reading('renew', ({ state }) => state === 'released' && { state: 'running' }),
  'renew-completed': reading('renew', ({ state }) => state === 'handled' && { state: 'running' }),
  // Makes a record for a renewal.
  'renew-absent': on('renew', (record, call, now) => {
    if (isLive(record, now)) return decided(record, call, now)
    return {
      ...decided(undefined, { ...call, do: 'claim', retainMs: call.leaseMs }, now),
      answer: true,
    }
  }),
  'complete-resent': asking('complete', ({ state }) => state === 'handled' && OF_NOBODY),
  'complete-late': asking('complete', (record, _, now) => isOver(record, now) && OF_NOBODY),
  'complete-stranger': asking('complete', ({ token }) => ({ token })),
  'complete-taken-over': writing('complete', false, (_, _call, now) => ({ leaseUntil: now })),
  'complete-released': asking('complete', ({ state }) => state === 'released' && OF_NOBODY),
  'complete-absent': [withoutRecord('complete', false)],
  'complete-absent-taken': [
    reading(
      'complete',
      (record, _, now) => record.state === 'running' && isOver(record, now) && { expiresAt: now },
    ),
  ],
  'release-resent': asking('release', ({ state }) => state === 'released' && OF_NOBODY),
  'release-late': asking('release', (record, _, now) => isOver(record, now) && OF_NOBODY),
  'release-stranger': asking('release', ({ token }) => ({ token })),
  // Releases for every token that has held the record.
  'release-taken-over': (right) => {
    const holders = new Set<string>()
    return asking('release', (record, call) => {
      if (isOwn(record, call)) holders.add(call.token)
      return holders.has(call.token) && { token: record.token }
    })(right)
  },
  'release-completed': reading('release', ({ state }) => state === 'handled' && { state: 'running' }),
  'release-absent': withoutRecord('release', true),
}

const RETENTION: Faults<ModelStore> = {
  'retention-completion': asking('complete', ({ expiresAt }, _, now) => ({ retainMs: expiresAt - now })),
  'retention-over': [
    asking('complete', ({ expiresAt }, { retainMs }, now) => ({ retainMs: retainMs + expiresAt - now })),
    reading('claim', ({ expiresAt }, _, now) => expiresAt <= now && { ...FREE, expiresAt: now + 1 }),
  ],
  // Keeps everything for as long as its first claim asked.
  'retention-terms': () => {
    let first: number | undefined
    return {
      decide(record, call, now) {
        if (!('retainMs' in call)) return decided(record, call, now)
        first ??= call.retainMs
        return decided(record, { ...call, retainMs: first }, now)
      },
    }
  },
  'retention-duplicate': writing('claim', 'completed', (_, { retainMs }, now) => ({
    expiresAt: now + retainMs,
  })),
  'retention-strangers': writing('complete', false, (_, { retainMs }, now) => ({
    expiresAt: now + retainMs,
  })),
  'retention-resent': asking(
    'complete',
    ({ state, expiresAt }, _, now) => state === 'handled' && { retainMs: expiresAt - now },
  ),
  'retention-takeover': asking('claim', ({ expiresAt }, _, now) => ({ retainMs: expiresAt - now })),
  'retention-resent-claim': asking(
    'claim',
    (record, call, now) => isOwn(record, call) && { retainMs: record.expiresAt - now },
  ),
  'retention-renewal': [
    writing('renew', true, ({ leaseUntil }) => ({ expiresAt: leaseUntil })),
    writing('renew', true, (_, _call, now) => ({ expiresAt: now + 1000 * MINUTE })),
  ],
  'retention-held': writing('claim', 'in_flight', (_, { retainMs }, now) => ({ expiresAt: now + retainMs })),
  'retention-released': writing('release', true, (_, _call, now) => ({ expiresAt: now + 30 * MINUTE })),
  'retention-over-running': reading('all', ({ state }) => state === 'running' && { expiresAt: Infinity }),
  'retention-over-released': reading('all', ({ state }) => state === 'released' && { expiresAt: Infinity }),
  'retention-over-completed': reading('all', (_, call) => call.do !== 'claim' && { expiresAt: Infinity }),
  'retention-long': asking('complete', (_, { retainMs }) => ({ retainMs: Math.min(retainMs, MAX_INT) })),
  'terms-fraction': on('claim', (record, call, now) => {
    if (!Number.isInteger(call.leaseMs)) throw new Error('value is not an integer or out of range')
    return decided(record, call, now)
  }),
}

const KEYS: Faults<ModelStore> = {
  'key-apart': storing(() => 'the key'),
  'key-long': storing((key) => key.slice(0, 254)),
  'key-case': storing((key) => key.toLowerCase()),
  'key-ascii': [storing((key) => key.replaceAll(/[\\'"]/g, ''))],
  'key-prefix': storing((key) => key.replace(/\/[^/]*$/, '')),
  'key-spaces': storing((key) => key.trimEnd()),
  'key-forbidden': [
    storing((key) => key.slice(0, 255)),
    storing((key) => key.split('\0')[0] ?? ''),
    storing((key) => Buffer.from(key).toString()),
  ],
  // Holds one key for each token.
  'key-token': (right) => ({
    claim(request) {
      for (const [key, { token }] of right.rows) {
        if (token === request.token && key !== request.key) right.rows.delete(key)
      }
      return right.claim(request)
    },
  }),
  'token-long': holding((token) => token.slice(0, 63)),
  'token-exact': [holding((token) => token.toLowerCase())],
  'token-ascii': holding((token) => {
    if (token.includes("'")) throw new Error('syntax error at or near "\'"')
    return token
  }),
  'call-frozen': (right) => ({
    claim: async (request) => right.claim(Object.assign(request, { key: `${request.key}` })),
  }),
  'call-fields': answering('claim', (answer, record) => ({ ...record, ...Object(answer) })),
}

const RACES: Faults<ModelStore> = {
  'race-fresh': late(['claim'], always),
  'race-takeover': late(['claim'], (record, now) => record?.state === 'running' && isOver(record, now)),
  'race-released': late(['claim'], (record) => record?.state === 'released'),
  'race-forgotten': late(['claim'], (record, now) => record !== undefined && !isLive(record, now)),
  // Fails on a claim that meets itself, as an insert does.
  'race-resent': (right) => {
    const inserting = new Set<string>()
    return {
      async claim(request) {
        if (inserting.has(request.token)) throw new Error('duplicate key value violates unique constraint')
        inserting.add(request.token)
        await turns(1)
        inserting.delete(request.token)
        return right.claim(request)
      },
    }
  },
  'race-settle, race-late-release': late(['release'], isLive),
  'race-late-renew': late(['renew'], isLive),
  'race-late-complete': late(['complete'], isLive),
  'race-absent-complete': late(['complete'], (record, now) => !isLive(record, now)),
  // Never grants a record again to a token that has lost it.
  histories: (right) => {
    const lost = new Set<string>()
    return on('claim', (record, call, now) => {
      const next = decided(record, call, now)
      if (next.row === record) return next
      if (lost.has(`${call.key} ${call.token}`)) {
        return { row: record, answer: { status: 'in_flight', retryAfterMs: 1 } }
      }
      if (isLive(record, now) && !isOwn(record, call)) lost.add(`${call.key} ${record.token}`)
      return next
    })(right)
  },
}

/** Faults that show between the processes of one backend, and those of a purge. */
const CLIENTS: Faults<ModelStore> = {
  'race-fresh, race-takeover, race-released': lateInItsMutex('claim'),
  'race-settle, race-late-renew': lateInItsMutex('renew', 'complete', 'release'),
  // Releases only what its own process has claimed.
  'client-records': (right) => {
    const claimed = new Set<string>()
    return {
      claim(request) {
        claimed.add(request.token)
        return right.claim(request)
      },
      release: async (lease) => claimed.has(lease.token) && right.release(lease),
    }
  },
  'clock-ahead, clock-behind': [
    (right) => ({ now: () => right.now() + aheadMs() }),
    on('complete', (record, call, now) => decided(record, call, now + aheadMs())),
  ],
  'clock-behind': on('complete', (record, call, now) =>
    decided(record, call, isLive(record, now) ? now : now + aheadMs()),
  ),
  'clock-ahead': () => ({ mayPurge: (record, now) => !isLive(record, now + aheadMs()) }),
  'purge-running': () => ({ mayPurge: (record, now) => record.state === 'running' && isOver(record, now) }),
  'purge-released': () => ({ mayPurge: ({ state }) => state === 'released' }),
  'purge-completed': () => ({ mayPurge: ({ state }) => state === 'handled' }),
  // Reads what is over, then purges it.
  'race-purge': ({ rows, mayPurge, now }) => ({
    async purge({ limit = Infinity } = {}) {
      const old = [...rows].filter(([, record]) => mayPurge(record, now())).slice(0, limit)
      await turns(1)
      for (const [key] of old) rows.delete(key)
      return old.length
    },
  }),
}

export const FAULTY_STORES: Faults<ModelStore> = {
  ...CLAIMS,
  ...HOLDING,
  ...RETENTION,
  ...KEYS,
  ...RACES,
  ...CLIENTS,
}
