import type { ClaimResult } from 'tix-webhooks'
import {
  isLive,
  type KeyedCall,
  type KeyRecord,
  type StoreAnswer,
  transition,
} from '../../../testing/store-cases/transition.js'
import { turns } from '../promises.js'
import type { ModelStore } from './model-store.js'
import { type Fault, faultOf, type Patch } from './patched.js'

const fault = faultOf<ModelStore>

type Decide = ModelStore['decide']
type Method = KeyedCall['do']
type CallOf<Name extends Method> = KeyedCall & { readonly do: Name }

const MINUTE = 60_000
const MAX_INT = 2 ** 31 - 1

/** Decides calls of one method in another way. */
function on<Name extends Method>(
  name: Name,
  decide: (record: KeyRecord | undefined, call: CallOf<Name>, now: number) => ReturnType<Decide>,
): Patch<ModelStore> {
  return () => ({
    decide: (record, call, now) =>
      call.do === name ? decide(record, call as CallOf<Name>, now) : transition(record, call, now),
  })
}

/** Reads something else than is stored, in calls of one method or in all. */
function reading<Name extends Method>(
  name: Name | 'all',
  change: (record: KeyRecord, call: CallOf<Name>, now: number) => Partial<KeyRecord> | false,
): Patch<ModelStore> {
  return () => ({
    decide(record, call, now) {
      if (record === undefined || (name !== 'all' && call.do !== name)) return transition(record, call, now)
      const read = { ...record, ...change(record, call as CallOf<Name>, now) }
      const next = transition(read, call, now)
      return next.record === read ? { ...next, record } : next
    },
  })
}

/** Changes the arguments of a call that finds a record. */
function asking<Name extends Method>(
  name: Name,
  change: (record: KeyRecord, call: CallOf<Name>, now: number) => Partial<CallOf<Name>> | false,
): Patch<ModelStore> {
  return on(name, (record, call, now) =>
    transition(
      record,
      isLive(record, now) ? ({ ...call, ...change(record, call, now) } as KeyedCall) : call,
      now,
    ),
  )
}

/** Returns false to some calls that find a record. */
function refusing(
  name: Method,
  isRefused: (record: KeyRecord, call: KeyedCall, now: number) => boolean,
): Patch<ModelStore> {
  return on(name, (record, call, now) =>
    isLive(record, now) && isRefused(record, call, now)
      ? { record, answer: false }
      : transition(record, call, now),
  )
}

/** Takes some records for absent. */
function overlooking(
  name: Method,
  isOverlooked: (record: KeyRecord, call: KeyedCall, now: number) => boolean,
): Patch<ModelStore> {
  return on(name, (record, call, now) =>
    transition(record && isOverlooked(record, call, now) ? undefined : record, call, now),
  )
}

/** Returns an answer of its own, and writes nothing, if there is no record. */
function withoutRecord(name: Method, answer: boolean): Patch<ModelStore> {
  return on(name, (record, call, now) =>
    isLive(record, now) ? transition(record, call, now) : { record, answer },
  )
}

/** Writes more than it should after an answer. */
function writing<Name extends Method>(
  name: Name,
  after: boolean | ClaimResult['status'],
  change: (record: KeyRecord, call: CallOf<Name>, now: number) => Partial<KeyRecord>,
): Patch<ModelStore> {
  return on(name, (stored, call, now) => {
    const { record, answer } = transition(stored, call, now)
    const isDue = record !== undefined && (typeof answer === 'object' ? answer.status : answer) === after
    return { answer, record: isDue ? { ...record, ...change(record, call, now) } : record }
  })
}

/** Returns something else. */
function answering(
  name: Method,
  change: (answer: StoreAnswer, record: KeyRecord | undefined, call: KeyedCall, now: number) => unknown,
): Patch<ModelStore> {
  return on(name, (record, call, now) => {
    const next = transition(record, call, now)
    return { ...next, answer: change(next.answer, record, call, now) }
  })
}

/** Returns something else to a claim that finds the record held. */
function answeringHeld(
  restMs: (record: KeyRecord, call: CallOf<'claim'>, now: number, right: number) => number,
): Patch<ModelStore> {
  return answering('claim', (answer, record, call, now) => {
    if (typeof answer !== 'object' || answer.status !== 'in_flight' || record === undefined) return answer
    return { ...answer, retryAfterMs: restMs(record, call as CallOf<'claim'>, now, answer.retryAfterMs) }
  })
}

/** Writes a turn later what it has read. */
function late(
  names: readonly Method[],
  isLate: (record: KeyRecord | undefined, now: number) => boolean,
): Patch<ModelStore> {
  return (right) => {
    async function readThenCall<Answer>(key: string, call: () => Answer): Promise<Awaited<Answer>> {
      const read = right.records.get(key)
      const isRestored = isLate(read, right.now())
      await turns(1)
      if (isRestored && read === undefined) right.records.delete(key)
      if (isRestored && read !== undefined) right.records.set(key, read)
      return await call()
    }
    const all: Pick<ModelStore, Method> = {
      claim: (request) => readThenCall(request.key, () => right.claim(request)),
      renew: (lease, leaseMs) => readThenCall(lease.key, () => right.renew(lease, leaseMs)),
      complete: (lease, retainMs) => readThenCall(lease.key, () => right.complete(lease, retainMs)),
      release: (lease) => readThenCall(lease.key, () => right.release(lease)),
    }
    return Object.fromEntries(names.map((name) => [name, all[name]]))
  }
}

/** As `late`, but its calls wait for one another, and not for those of another process. */
function lateInItsMutex(...names: readonly Method[]): Patch<ModelStore> {
  return (right) => {
    const unguarded = { ...bound(right), ...late(names, () => true)(right) }
    let last: Promise<unknown> = Promise.resolve()
    function alone<Answer>(call: () => Answer): Promise<Awaited<Answer>> {
      const done = last.then(() => turns(1)).then(call) as Promise<Awaited<Answer>>
      last = done
      return done
    }
    return {
      claim: (request) => alone(() => unguarded.claim(request)),
      renew: (lease, leaseMs) => alone(() => unguarded.renew(lease, leaseMs)),
      complete: (lease, retainMs) => alone(() => unguarded.complete(lease, retainMs)),
      release: (lease) => alone(() => unguarded.release(lease)),
    }
  }
}

function bound({ claim, renew, complete, release }: ModelStore): Pick<ModelStore, Method> {
  return { claim, renew, complete, release }
}

const always = (): boolean => true
const isOver = ({ leaseUntil }: KeyRecord, now: number): boolean => leaseUntil <= now
const isOwn = ({ token }: KeyRecord, call: KeyedCall): boolean => token === call.token
/** A record that any token may take. */
const FREE: Partial<KeyRecord> = { phase: 'released', token: '' }

/** The time of `Date.now` without a fake clock. */
const { now: rightNow } = Date
/** How far the clock of the calling process is ahead. */
const aheadMs = (): number => Date.now() - rightNow()

const CLAIMS: readonly Fault<ModelStore>[] = [
  fault(
    'counts attempts from 0',
    'claim-fresh',
    answering('claim', (answer) => ({ ...Object(answer), attempt: Object(answer).attempt - 1 })),
  ),
  fault(
    'returns the attempt as text, as drivers return a bigint',
    'claim-fresh',
    answering('claim', (answer) => ({ ...Object(answer), attempt: String(Object(answer).attempt) })),
  ),
  fault(
    'grants everything',
    'claim-held',
    reading('claim', (_, _call, now) => ({ leaseUntil: now })),
  ),
  fault(
    'returns the whole lease instead of the rest of it',
    'claim-held',
    answeringHeld((_, { leaseMs }) => leaseMs),
  ),
  fault(
    'returns seconds instead of milliseconds',
    'claim-held',
    answeringHeld((_, _call, _now, right) => right / 1000),
  ),
  fault(
    'renews the lease for a claim that finds it held',
    'claim-held-kept',
    writing('claim', 'in_flight', (_, { leaseMs }, now) => ({ leaseUntil: now + leaseMs })),
  ),
  fault(
    'gives the record to a claim that finds it held',
    'claim-held-kept',
    writing('claim', 'in_flight', (_, { token }) => ({ token })),
  ),
  fault(
    'grants what is completed when its lease is over',
    'claim-completed',
    reading('claim', (record, _, now) => record.phase === 'completed' && isOver(record, now) && FREE),
  ),
  fault(
    'keeps what was released until its lease runs out',
    'claim-released',
    reading('claim', (record) => record.phase === 'released' && { phase: 'running', token: '' }),
  ),
  fault(
    'never takes over',
    'claim-takeover',
    reading('claim', ({ leaseUntil }, _, now) => ({ leaseUntil: Math.max(leaseUntil, now + 1) })),
  ),
  fault(
    'takes over minutes too soon',
    'claim-takeover',
    reading('claim', (record, _, now) => isOver(record, now + 10 * MINUTE) && { leaseUntil: now }),
  ),
  fault(
    'takes over minutes too late',
    'claim-takeover',
    reading(
      'claim',
      (record, _, now) => !isOver(record, now - 6 * MINUTE) && { leaseUntil: record.leaseUntil + 6 * MINUTE },
    ),
  ),
  fault(
    'does not count attempts',
    'claim-attempts',
    reading('claim', (record, call) => !isOwn(record, call) && { attempt: 0 }),
  ),
  fault(
    'counts to two',
    'claim-attempts',
    reading('claim', (record, call) => !isOwn(record, call) && { attempt: 1 }),
  ),
  fault('gives every claim the lease of the first', 'claim-terms', (right) => {
    let first: number | undefined
    return on('claim', (record, call, now) => {
      first ??= call.leaseMs
      return transition(record, { ...call, leaseMs: first }, now)
    })(right)
  }),
  fault(
    'counts a claim that is sent again as another attempt',
    'claim-resent',
    reading('claim', (record, call) => isOwn(record, call) && { attempt: record.attempt + 1 }),
  ),
  fault(
    'returns in_flight to the holder that sends its claim again',
    'claim-resent',
    reading('claim', ({ phase }) => phase === 'running' && { token: '' }),
  ),
  fault(
    'keeps the lease when the claim is sent again',
    'claim-resent-lease',
    asking('claim', (record, call, now) => isOwn(record, call) && { leaseMs: record.leaseUntil - now }),
  ),
  fault(
    'counts another attempt when its own lease ran out',
    'claim-resent-late',
    reading(
      'claim',
      (record, call, now) => isOwn(record, call) && isOver(record, now) && { attempt: record.attempt + 1 },
    ),
  ),
  fault(
    'lets the own token take back what it released',
    'claim-resent-released',
    reading(
      'claim',
      (record, call) => record.phase === 'released' && isOwn(record, call) && { phase: 'running' },
    ),
  ),
  fault(
    'returns the lease to a claim that comes after its own release',
    'claim-resent-released',
    answeringHeld(({ leaseUntil }, _, now) => leaseUntil - now),
  ),
  fault('grants every claim whose token it has seen', 'claim-resent-taken-over', (right) => {
    const seen = new Set<string>()
    return on('claim', (record, call, now) => {
      const token = seen.has(call.token) && record?.phase === 'running' ? call.token : record?.token
      seen.add(call.token)
      return transition(record && { ...record, token: token ?? '' }, call, now)
    })(right)
  }),
  fault(
    'repeats the grant to the token that completed',
    'claim-resent-completed',
    reading(
      'claim',
      (record, call) => record.phase === 'completed' && isOwn(record, call) && { phase: 'running' },
    ),
  ),
]

const HOLDING: readonly Fault<ModelStore>[] = [
  fault(
    'adds a renewal to the rest of the lease',
    'renew-holder',
    asking('renew', ({ leaseUntil }, { leaseMs }, now) => ({ leaseMs: leaseMs + leaseUntil - now })),
  ),
  fault(
    'returns true to a renewal and does nothing',
    'renew-holder',
    asking('renew', ({ leaseUntil }, _, now) => ({ leaseMs: leaseUntil - now })),
  ),
  fault('returns the number of changed rows', 'renew-holder', answering('renew', Number)),
  fault(
    'never shortens a lease',
    'renew-shorter',
    asking('renew', ({ leaseUntil }, { leaseMs }, now) => ({
      leaseMs: Math.max(leaseMs, leaseUntil - now),
    })),
  ),
  fault(
    'renews by the clock',
    'renew-late',
    refusing('renew', (record, _, now) => isOver(record, now)),
  ),
  fault(
    'renews with any token',
    'renew-stranger',
    asking('renew', ({ token }) => ({ token })),
  ),
  fault(
    'renews with any token, but returns false',
    'renew-taken-over',
    writing('renew', false, (_, { leaseMs }, now) => ({ leaseUntil: now + leaseMs })),
  ),
  fault(
    'renews by claiming',
    'renew-released',
    reading('renew', ({ phase }) => phase === 'released' && { phase: 'running' }),
  ),
  fault(
    'takes a completed record back for a renewal',
    'renew-completed',
    reading('renew', ({ phase }) => phase === 'completed' && { phase: 'running' }),
  ),
  fault(
    'makes a record for a renewal',
    'renew-absent',
    on('renew', (record, call, now) => {
      if (isLive(record, now)) return transition(record, call, now)
      const claim = { ...call, do: 'claim' as const, retainMs: call.leaseMs }
      return { ...transition(undefined, claim, now), answer: true }
    }),
  ),
  fault(
    'returns false to a complete that is sent again',
    'complete-resent',
    refusing('complete', ({ phase }) => phase === 'completed'),
  ),
  fault(
    'completes by the clock',
    'complete-late',
    refusing('complete', (record, _, now) => isOver(record, now)),
  ),
  fault(
    'completes with any token',
    'complete-stranger',
    asking('complete', ({ token }) => ({ token })),
  ),
  fault(
    'ends the lease for a complete of the old holder, though it returns false',
    'complete-taken-over',
    writing('complete', false, (_, _call, now) => ({ leaseUntil: now })),
  ),
  fault(
    'completes what its token has released',
    'complete-released',
    reading('complete', ({ phase }) => phase === 'released' && { phase: 'running' }),
  ),
  fault(
    'refuses a completion of which it has no record',
    'complete-absent',
    withoutRecord('complete', false),
  ),
  fault(
    'returns true to a completion of which it has no record, and writes nothing',
    'complete-absent',
    withoutRecord('complete', true),
  ),
  fault(
    'takes a record whose lease has run out for one that is gone',
    'complete-absent-taken',
    overlooking('complete', (record, _, now) => record.phase === 'running' && isOver(record, now)),
  ),
  fault(
    'takes a released record for one that is gone',
    'complete-absent-taken',
    overlooking('complete', (record, call) => record.phase === 'released' && !isOwn(record, call)),
  ),
  fault(
    'deletes what is released',
    'claim-released',
    on('release', (record, call, now) => {
      const next = transition(record, call, now)
      return next.answer === true ? { ...next, record: undefined } : next
    }),
  ),
  fault(
    'returns false to a release that is sent again',
    'release-resent',
    refusing('release', ({ phase }) => phase === 'released'),
  ),
  fault(
    'releases by the clock',
    'release-late',
    refusing('release', (record, _, now) => isOver(record, now)),
  ),
  fault(
    'releases with any token',
    'release-stranger',
    asking('release', ({ token }) => ({ token })),
  ),
  fault('releases for every token that has held the record', 'release-taken-over', (right) => {
    const holders = new Set<string>()
    return asking('release', (record, call) => {
      if (isOwn(record, call)) holders.add(call.token)
      return holders.has(call.token) && { token: record.token }
    })(right)
  }),
  fault(
    'releases what is completed',
    'release-completed',
    reading('release', ({ phase }) => phase === 'completed' && { phase: 'running' }),
  ),
  fault(
    'returns true to the release of what is not there, as a DELETE would',
    'release-absent',
    withoutRecord('release', true),
  ),
]

const RETENTION: readonly Fault<ModelStore>[] = [
  fault(
    'counts the retention from the claim',
    'retention-completion',
    asking('complete', ({ expiresAt }, _, now) => ({ retainMs: expiresAt - now })),
  ),
  fault(
    'adds the retention to the rest of it',
    'retention-over',
    asking('complete', ({ expiresAt }, { retainMs }, now) => ({
      retainMs: retainMs + expiresAt - now,
    })),
  ),
  fault(
    'forgets nothing',
    'retention-over',
    reading('all', () => ({ expiresAt: Number.POSITIVE_INFINITY })),
  ),
  fault(
    'goes on counting attempts after the retention',
    'retention-over',
    reading('claim', ({ expiresAt }, _, now) => expiresAt <= now && { ...FREE, expiresAt: now + 1 }),
  ),
  fault(
    'keeps the old lease when it grants a record past its retention',
    'retention-over',
    on('claim', (stored, call, now) => {
      const { record, answer } = transition(stored, call, now)
      const isPast = record !== undefined && stored !== undefined && stored.expiresAt <= now
      return { answer, record: isPast ? { ...record, leaseUntil: stored.leaseUntil } : record }
    }),
  ),
  fault('keeps everything for as long as its first claim asked', 'retention-terms', () => {
    let first: number | undefined
    return {
      decide(record, call, now) {
        if (!('retainMs' in call)) return transition(record, call, now)
        first ??= call.retainMs
        return transition(record, { ...call, retainMs: first }, now)
      },
    }
  }),
  fault(
    'keeps a completed record longer for each duplicate',
    'retention-duplicate',
    writing('claim', 'completed', (_, { retainMs }, now) => ({ expiresAt: now + retainMs })),
  ),
  fault(
    'keeps a record longer for a complete that it refuses',
    'retention-strangers',
    writing('complete', false, (_, { retainMs }, now) => ({ expiresAt: now + retainMs })),
  ),
  fault(
    'keeps the first retention when complete is sent again',
    'retention-resent',
    asking(
      'complete',
      ({ phase, expiresAt }, _, now) => phase === 'completed' && { retainMs: expiresAt - now },
    ),
  ),
  fault(
    'counts the retention of an unfinished record from its first claim',
    'retention-takeover',
    asking('claim', ({ expiresAt }, _, now) => ({ retainMs: expiresAt - now })),
  ),
  fault(
    'keeps the retention when the claim is sent again',
    'retention-resent-claim',
    asking('claim', (record, call, now) => isOwn(record, call) && { retainMs: record.expiresAt - now }),
  ),
  fault(
    'lets a record expire with its renewed lease',
    'retention-renewal',
    writing('renew', true, ({ leaseUntil }) => ({ expiresAt: leaseUntil })),
  ),
  fault(
    'keeps a record longer for a renewal',
    'retention-renewal',
    writing('renew', true, (_, _call, now) => ({ expiresAt: now + 1000 * MINUTE })),
  ),
  fault(
    'keeps a held record longer for each claim',
    'retention-held',
    writing('claim', 'in_flight', (_, { retainMs }, now) => ({ expiresAt: now + retainMs })),
  ),
  fault(
    'keeps a released record for its lease alone',
    'retention-released',
    writing('release', true, (_, _call, now) => ({ expiresAt: now + 30 * MINUTE })),
  ),
  fault(
    'never forgets what is unfinished',
    'retention-over-running',
    reading('all', ({ phase }) => phase === 'running' && { expiresAt: Number.POSITIVE_INFINITY }),
  ),
  fault(
    'never forgets what is released',
    'retention-over-released',
    reading('all', ({ phase }) => phase === 'released' && { expiresAt: Number.POSITIVE_INFINITY }),
  ),
  fault(
    'looks at the retention in claim alone',
    'retention-over-completed',
    reading('all', (_, call) => call.do !== 'claim' && { expiresAt: Number.POSITIVE_INFINITY }),
  ),
  fault(
    'keeps milliseconds in 32 bits',
    'retention-long',
    asking('complete', (_, { retainMs }) => ({ retainMs: Math.min(retainMs, MAX_INT) })),
  ),
  fault(
    'refuses fractions of a millisecond, as integer parameters do',
    'terms-fraction',
    on('claim', (record, call, now) => {
      if (!Number.isInteger(call.leaseMs)) throw new Error('value is not an integer or out of range')
      return transition(record, call, now)
    }),
  ),
]

const utf8 = (text: string): string => new TextDecoder().decode(new TextEncoder().encode(text))

const KEYS: readonly Fault<ModelStore>[] = [
  ...(
    [
      ['holds one record for all', 'key-apart', () => 'the key'],
      ['cuts keys to 254 characters', 'key-long', (key) => key.slice(0, 254)],
      ['compares keys without case', 'key-case', (key) => key.toLowerCase()],
      ['drops what it escapes', 'key-ascii', (key) => key.replaceAll(/[\\'"]/g, '')],
      ['takes one character for another', 'key-ascii', (key) => key.replaceAll('{', '}')],
      ['takes the part before the last slash', 'key-prefix', (key) => key.replace(/\/[^/]*$/, '')],
      ['pads keys with spaces', 'key-spaces', (key) => key.trimEnd()],
      ['cuts keys to 255 characters', 'key-forbidden', (key) => key.slice(0, 255)],
      ['ends keys at NUL', 'key-forbidden', (key) => key.split('\0')[0] ?? ''],
      ['normalises keys', 'key-forbidden', (key) => key.normalize()],
      ['encodes keys as UTF-8', 'key-forbidden', utf8],
    ] satisfies [string, string, ModelStore['keyOf']][]
  ).map(([what, id, keyOf]) => fault(what, id, () => ({ keyOf }))),
  ...(
    [
      ['cuts tokens to 63 characters', 'token-long', (token) => token.slice(0, 63)],
      ['compares tokens without case', 'token-exact', (token) => token.toLowerCase()],
      ['compares tokens without the spaces around them', 'token-exact', (token) => token.trim()],
    ] satisfies [string, string, ModelStore['tokenOf']][]
  ).map(([what, id, tokenOf]) => fault(what, id, () => ({ tokenOf }))),
  fault('holds one key for each token', 'key-token', (right) => ({
    claim(request) {
      for (const [key, { token }] of right.records) {
        if (token === request.token && key !== request.key) right.records.delete(key)
      }
      return right.claim(request)
    },
  })),
  fault('refuses quotes in tokens', 'token-ascii', () => ({
    tokenOf(token) {
      if (token.includes("'")) throw new Error('syntax error at or near "\'"')
      return token
    },
  })),
  fault('prefixes the key in its argument', 'call-frozen', (right) => ({
    claim: async (request) => right.claim(Object.assign(request, { key: `${request.key}` })),
  })),
  fault(
    'returns its whole record',
    'call-fields',
    answering('claim', (answer, record) => ({ ...record, ...Object(answer) })),
  ),
]

const RACES: readonly Fault<ModelStore>[] = [
  fault('reads, then writes, in claim', 'race-fresh', late(['claim'], always)),
  fault(
    'reads, then takes over',
    'race-takeover',
    late(['claim'], (record, now) => record?.phase === 'running' && isOver(record, now)),
  ),
  fault(
    'reads, then takes what was released',
    'race-released',
    late(['claim'], (record) => record?.phase === 'released'),
  ),
  fault(
    'reads, then replaces what is past its retention',
    'race-forgotten',
    late(['claim'], (record, now) => record !== undefined && !isLive(record, now)),
  ),
  fault('fails on a claim that meets itself, as an insert does', 'race-resent', (right) => {
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
  }),
  fault('reads, then releases', ['race-settle', 'race-late-release'], late(['release'], isLive)),
  fault('reads, then renews', 'race-late-renew', late(['renew'], isLive)),
  fault('reads, then completes', 'race-late-complete', late(['complete'], isLive)),
  fault(
    'reads that there is no record, then writes a completion',
    'race-absent-complete',
    late(['complete'], (record, now) => !isLive(record, now)),
  ),
  fault('never grants a record again to a token that has lost it', 'histories', (right) => {
    const lost = new Set<string>()
    return on('claim', (record, call, now) => {
      const next = transition(record, call, now)
      if (next.record === record) return next
      if (lost.has(`${call.key} ${call.token}`)) {
        return { record, answer: { status: 'in_flight', retryAfterMs: 1 } }
      }
      if (isLive(record, now) && !isOwn(record, call)) lost.add(`${call.key} ${record.token}`)
      return next
    })(right)
  }),
]

/** Faults that show between the processes of one backend, and those of a purge. */
const CLIENTS: readonly Fault<ModelStore>[] = [
  fault(
    'is atomic in one process only',
    ['race-fresh', 'race-takeover', 'race-released'],
    lateInItsMutex('claim'),
  ),
  fault(
    'has a mutex of one process around its settling',
    ['race-settle', 'race-late-renew'],
    lateInItsMutex('renew', 'complete', 'release'),
  ),
  fault('releases only what its own process has claimed', 'client-records', (right) => {
    const claimed = new Set<string>()
    return {
      claim(request) {
        claimed.add(request.token)
        return right.claim(request)
      },
      release: async (lease) => claimed.has(lease.token) && right.release(lease),
    }
  }),
  fault("computes everything by the caller's clock", ['clock-ahead', 'clock-behind'], (right) => ({
    now: () => right.now() + aheadMs(),
  })),
  fault(
    "computes the retention of what is completed by the caller's clock",
    ['clock-ahead', 'clock-behind'],
    on('complete', (record, call, now) => transition(record, call, now + aheadMs())),
  ),
  fault(
    "computes the retention of a completion without a record by the caller's clock",
    'clock-behind',
    on('complete', (record, call, now) =>
      transition(record, call, isLive(record, now) ? now : now + aheadMs()),
    ),
  ),
  fault("purges by the caller's clock", 'clock-ahead', () => ({
    mayPurge: (record, now) => !isLive(record, now + aheadMs()),
  })),
  ...(['running', 'released', 'completed'] as const).map((phase) =>
    fault(`purges what is ${phase}`, `purge-${phase}`, () => ({
      mayPurge: (record) => record.phase === phase,
    })),
  ),
  fault('purges what is running when its lease is over', 'purge-running', () => ({
    mayPurge: (record, now) => record.phase === 'running' && isOver(record, now),
  })),
  fault('reads what is over, then purges it', 'race-purge', ({ records, mayPurge, now }) => ({
    async purge({ limit = Infinity } = {}) {
      const old = [...records].filter(([, record]) => mayPurge(record, now())).slice(0, limit)
      await turns(1)
      for (const [key] of old) records.delete(key)
      return old.length
    },
  })),
]

/** Faulty stores. */
export const FAULTY_STORES: readonly Fault<ModelStore>[] = [
  ...CLAIMS,
  ...HOLDING,
  ...RETENTION,
  ...KEYS,
  ...RACES,
  ...CLIENTS,
]
