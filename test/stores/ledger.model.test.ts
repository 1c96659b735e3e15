// @module-tag slow
import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import type { EventRecord, FailedDelivery, Inbox, LedgerStore, OnceRun } from 'tix-webhooks'
import { mysqlInbox, mysqlStore } from 'tix-webhooks/mysql'
import { sqliteInbox, sqliteStore } from 'tix-webhooks/sqlite'
import { describe, expect, test } from 'vitest'
import { type EventRow, isLive, type LedgerAnswer, type LedgerCall, transition } from '../../src/internal.js'
import { mysqlUrl, onMysql } from '../support/on-servers.js'
import { runs } from '../support/runs.js'
import { DRIVERS } from '../support/sqlite-drivers.js'
import { openDatabase } from '../support/sqlite-open.js'
import { POOLS } from './mysql/pools.js'

interface Opened {
  readonly store: LedgerStore
  /** On the same table. */
  readonly inbox?: Inbox<never>
  /** The clock of the table, within half a minute. */
  now(): number
  advance(ms: number): Promise<void>
  close(): Promise<unknown>
}

interface Backend {
  readonly name: string
  readonly describe: typeof describe | ReturnType<typeof describe.skipIf>
  open(): Promise<Opened>
}

const MINUTE = 60_000
/** By this and whole minutes no deadline is met to the millisecond, so that a slow server decides as the model does. */
const HALF = MINUTE / 2

const SQLITE = DRIVERS.map(
  ({ name, isHere }): Backend => ({
    name: `SQLite on ${name}`,
    describe: describe.skipIf(!isHere),
    async open() {
      const db = openDatabase(name, ':memory:')
      let ms = Date.now()
      const now = (): number => ms
      const [store, inbox] = [sqliteStore(db, { now }), sqliteInbox(db, { now })]
      await inbox.migrate()
      return {
        store,
        inbox: inbox as unknown as Inbox<never>,
        now,
        advance: async (by) => {
          ms += by
        },
        close: async () => db.close(),
      }
    },
  }),
)

const MYSQL = POOLS.map(
  ({ name, open }): Backend => ({
    name: `MySQL over ${name}`,
    describe: onMysql,
    async open() {
      const pool = open({ url: mysqlUrl() }, { connectionLimit: 1 })
      const database = `tix_${randomBytes(6).toString('hex')}`
      await pool.query(`CREATE DATABASE ${database}`)
      const options = { table: `${database}.events`, purgeEverySeconds: false } as const
      const [store, inbox] = [mysqlStore(pool, options), mysqlInbox(pool, options)]
      await inbox.migrate()
      let ms = Date.now()
      // The clock of its only session stands still.
      const setClock = (): Promise<unknown> => pool.query(`SET timestamp = ${ms / 1000}`)
      await setClock()
      return {
        store,
        inbox: inbox as unknown as Inbox<never>,
        now: () => ms,
        async advance(by) {
          ms += by
          await setClock()
        },
        async close() {
          await pool.query(`DROP DATABASE ${database}`)
          await pool.end()
        },
      }
    },
  }),
)

/** Ledgers in a database of SQL: each must do what the transition says. */
const BACKENDS: readonly Backend[] = [...SQLITE, ...MYSQL]

const ABOUT = { namespace: 'orders', account: 'acme', kind: 'order.created' }

function failed(message: string, given: Partial<FailedDelivery>): FailedDelivery {
  return {
    ...ABOUT,
    key: '',
    orderId: 'ord_1',
    rawBody: new TextEncoder().encode(message.repeat(message.length - 1)),
    signedAt: new Date(1_700_000_000_001),
    secretIndex: message.length,
    code: 'handler_failed',
    message,
    group: '0123456789abcdef',
    isReplay: false,
    retainMs: 200 * MINUTE + HALF,
    ...given,
  }
}

const tokens = fc.constantFrom('a', 'b', 'c')
const leaseMs = fc.constantFrom(MINUTE + HALF, 10 * MINUTE + HALF)
const retainMs = fc.constantFrom(11 * MINUTE + HALF, 100 * MINUTE + HALF)
const about = fc.constantFrom(ABOUT, undefined)
const replay = fc.option(fc.record({ seen: fc.nat(3) }), { nil: undefined })
const discarded = fc.option(fc.record({ reason: fc.constantFrom('a test order', 'late') }), {
  nil: undefined,
})
const failures = fc
  .record({
    message: fc.constantFrom('x', 'no ink', 'no paper'),
    isReplay: fc.boolean(),
    parkAfter: fc.constantFrom(
      undefined,
      {},
      { attempts: 2 },
      { ms: 20 * MINUTE + HALF },
      { attempts: 3, ms: 1 },
    ),
  })
  .map(({ message, isReplay, parkAfter }) =>
    failed(message, { isReplay, ...(parkAfter === undefined ? {} : { parkAfter }) }),
  )

type Step = LedgerCall | { readonly do: 'advance'; readonly ms: number } | { readonly do: 'forget' }

const is = <Name extends Step['do']>(name: Name) => fc.constant(name)
const calls: fc.Arbitrary<LedgerCall> = fc.oneof(
  fc.record({ do: is('claim'), token: tokens, leaseMs, retainMs, about, replay }),
  fc.record({ do: is('renew'), token: tokens, leaseMs }),
  fc.record({ do: is('complete'), token: tokens, retainMs, discarded }),
  fc.record({ do: is('release'), token: tokens }),
  fc.record({ do: is('fail'), token: tokens, failed: failures }),
  fc.record({ do: is('keep'), failed: failures }),
  fc.record({ do: is('discard'), reason: fc.constant('by hand') }),
  fc.record({ do: is('open'), token: fc.constant('of the inbox'), retainMs, about, replay }),
)
const steps: fc.Arbitrary<Step> = fc.oneof(
  { weight: 12, arbitrary: calls },
  {
    weight: 4,
    arbitrary: fc.record({
      do: is('advance'),
      ms: fc.constantFrom(1, 2, 11, 30, 300).map((minutes) => minutes * MINUTE),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: is('forget') }) },
)

async function answered({ store, inbox }: Opened, key: string, call: LedgerCall): Promise<LedgerAnswer> {
  switch (call.do) {
    case 'claim': {
      const { do: _, about, replay, ...request } = call
      return store.claim({ ...request, key, ...(about && { about }), ...(replay && { replay }) })
    }
    case 'renew':
      return store.renew({ key, token: call.token }, call.leaseMs)
    case 'complete':
      return store.complete({ key, token: call.token }, call.retainMs, call.discarded)
    case 'release':
      return store.release({ key, token: call.token })
    case 'fail':
      return store.fail({ key, token: call.token }, { ...call.failed, key })
    case 'keep':
      return store.keep({ ...call.failed, key })
    case 'discard':
      return store.ledger.discard(key, { reason: call.reason })
    case 'open': {
      const { retainMs, about, replay } = call
      let run: OnceRun | undefined
      const result = await inbox?.once(
        { key, retainMs, ...(about && { about }), ...(replay && { replay }) },
        async (_, given) => {
          run = given
        },
      )
      const status = result?.status
      if (status === 'handled') return { status: 'opened', attempt: run?.attempt ?? 0 }
      return { status } as LedgerAnswer
    }
  }
}

/** Of a server's clock, the minute alone is the same. */
function inMinutes(value: unknown, now: number): unknown {
  if (value instanceof Date) return `${Math.round((value.getTime() - now - 10) / MINUTE)} min`
  if (value instanceof Uint8Array) return new TextDecoder().decode(value)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [
      name,
      name === 'retryAfterMs'
        ? Math.ceil(Number(one) / MINUTE)
        : name === 'signedAt'
          ? one
          : inMinutes(one, now),
    ]),
  )
}

/** What the ledger has to say of a row. */
function recordOf(key: string, row: EventRow, now: number): EventRecord {
  const { failure, about, state, reason, handledAt } = row
  const seen = failure === undefined ? 0 : failure.count + failure.replays
  const isFinal = state === 'handled' || state === 'discarded'
  const running = state === 'running' && row.leaseUntil > now ? 'running' : 'pending'
  return {
    key,
    namespace: about?.namespace ?? '',
    ...(about?.account !== undefined && { account: about.account }),
    kind: about?.kind ?? '',
    state: isFinal ? state : (failure?.state ?? running),
    attempts: Math.max(row.attempt, seen),
    receivedAt: new Date(row.receivedAt),
    expiresAt: new Date(row.expiresAt),
    ...(handledAt !== undefined && { handledAt: new Date(handledAt) }),
    ...(reason !== undefined && { reason }),
    ...(failure !== undefined && {
      orderId: failure.delivery.orderId as string,
      signedAt: failure.delivery.signedAt,
      secretIndex: failure.delivery.secretIndex,
      size: failure.delivery.rawBody.length,
      rawBody: failure.delivery.rawBody,
      failure: {
        code: failure.delivery.code,
        message: failure.delivery.message,
        group: failure.delivery.group,
        count: failure.count,
        replays: failure.replays,
        firstAt: new Date(failure.firstAt),
        lastAt: new Date(failure.lastAt),
        deliveredAt: new Date(failure.deliveredAt),
        ...(failure.replayedAt !== undefined && { lastReplayedAt: new Date(failure.replayedAt) }),
      },
    }),
  }
}

describe.each(BACKENDS)('the ledger of $name', ({ describe, open }) => {
  describe('is that of the transition', () => {
    test('in random histories of one event: each answer, and the record after it', async () => {
      const opened = await open()
      let histories = 0
      try {
        await fc.assert(
          fc.asyncProperty(fc.array(steps, { minLength: 1, maxLength: 14, size: 'max' }), async (history) => {
            histories += 1
            const key = `orders/acme/order.created/ord_${histories}`
            let row: EventRow | undefined
            // A server's clock goes on, so the model's is that of the start, with what the steps add.
            let now = opened.now()
            for (const step of history) {
              if (step.do === 'advance') {
                now += step.ms
                await opened.advance(step.ms)
                continue
              }
              if (step.do === 'forget') {
                expect(await opened.store.forget(key)).toBe(row !== undefined)
                row = undefined
                continue
              }
              if (step.do === 'open' && opened.inbox === undefined) continue
              const time = { now, leaseNow: now }
              const after = transition(row, step, time)
              row = after.row
              const answer = await answered(opened, key, step)
              expect(inMinutes(answer, now), step.do).toEqual(inMinutes(after.answer, now))
              const wanted = isLive(row, time) ? recordOf(key, row, now) : undefined
              const found = await opened.store.ledger.get(key)
              expect(inMinutes(found, now), `the record after ${step.do}`).toEqual(inMinutes(wanted, now))
            }
          }),
          { numRuns: runs(400) },
        )
      } finally {
        await opened.close()
      }
    })
  })
})
