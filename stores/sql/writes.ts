import { COLUMN_NAMES, COLUMNS, type Column, FAILURE_COLUMNS, LATEST_COLUMNS } from './columns.js'
import type { CoreSql, Fields } from './statement.js'

/** Whether a write may meet the open transaction of an inbox, which it must not wait for. */
export type Meeting =
  /** It opens that transaction. */
  | 'opens'
  /** It is left out if another one has the event. */
  | 'yields'
  /** The same, unless its own lease lives: the inbox is then refused at once. */
  | 'holds'

/**
 * A write to the row of one event: one atomic decision. A row past its retention counts as none, and whatever takes it resets every column. The
 * rules are those of `src/ledger/transition.ts`.
 */
export interface Upsert {
  readonly fields: Fields
  readonly meeting: Meeting
  /** The row of an event that is not known. The columns that it does not name are NULL. */
  readonly row: Readonly<Partial<Record<Column, CoreSql>>>
  /** Whether it writes that row, if there is none within its retention. Default: always. */
  readonly inserts?: CoreSql
  /** Whether the write changes a row that is there. */
  readonly accepts: CoreSql
  /** The same, of a row that is within its retention. */
  readonly acceptsIfLive: CoreSql
  /**
   * What it changes. In their order: MySQL assigns from left to right, so that an expression must not read a column that is assigned before
   * its own. Whether the row was within its retention is `:live`.
   */
  readonly set: readonly (readonly [column: Column, value: CoreSql])[]
}

/** A change of a row that is there: it inserts nothing. */
export interface Update {
  readonly fields: Fields
  readonly meeting: Meeting
  readonly accepts: CoreSql
  readonly set: Upsert['set']
}

const IS_LIVE = 'stored.expires_at > :now'
const IS_FINAL = "stored.state IN ('handled', 'discarded')"
const IS_OWN = 'stored.token = :token'
/** Running, and with a lease that another delivery has. */
const IS_HELD = "stored.state = 'running' AND stored.lease_until > :now"

/** In `set`: the value of a row that is there, or what a new one would have. */
function orNew(
  column: Column,
  live: CoreSql = `stored.${column}`,
  absent: CoreSql = `given.${column}`,
): CoreSql {
  return `CASE WHEN :live THEN ${live} ELSE ${absent} END`
}

/** The facts are the same for all deliveries of a key, so they are written once. */
const FACTS: readonly Column[] = ['namespace', 'account', 'kind']
const FACT_FIELDS = { namespace: 'text', account: 'text', kind: 'text' } as const
const GIVEN_FACTS = { namespace: ':namespace', account: ':account', kind: ':kind' } as const
const KEPT_FACTS = FACTS.map((column) => [column, orNew(column)] as const)

const CLEARED = FAILURE_COLUMNS.map((column) => [column, 'NULL'] as const)
const CLEARED_IF_PAST = FAILURE_COLUMNS.map(
  (column) => [column, orNew(column, `stored.${column}`, 'NULL')] as const,
)

/** A live row that may be taken has neither. */
const UNHANDLED = (['handled_at', 'reason'] as const).map(
  (column) => [column, orNew(column, `stored.${column}`, 'NULL')] as const,
)

/** How many failures and failed replays there are, in a row within its retention. */
const SEEN = 'coalesce(stored.fails, 0) + coalesce(stored.replays, 0)'

/** Of a replay: an event that had failed and is not known any more does not run. */
const IS_UNSEEN = ':seen = 0'

function accepting(acceptsIfLive: CoreSql, ifPast = ''): Pick<Upsert, 'accepts' | 'acceptsIfLive'> {
  return {
    accepts: `(stored.expires_at <= :now${ifPast} OR ${IS_LIVE} AND (${acceptsIfLive}))`,
    acceptsIfLive,
  }
}

const CLAIM_FIELDS = { key: 'key', token: 'token', lease_ms: 'ms', retain_ms: 'ms', ...FACT_FIELDS } as const

function claimOf(isReplay: boolean): Upsert {
  const isFree = [
    "stored.state = 'running' AND (stored.token = given.token OR stored.lease_until <= :now)",
    "stored.state = 'released' AND stored.token <> given.token",
  ].join(' OR ')
  const isWanted = isReplay
    ? `(stored.state = 'running' AND stored.token = given.token OR ${SEEN} = :seen)`
    : "(stored.failure IS NULL OR stored.failure <> 'parked' OR stored.state = 'running' AND stored.token = given.token)"
  return {
    fields: isReplay ? { ...CLAIM_FIELDS, seen: 'integer' } : CLAIM_FIELDS,
    meeting: 'yields',
    row: {
      event_key: ':key',
      state: "'running'",
      token: ':token',
      attempt: '1',
      lease_until: ':now + :lease_ms',
      expires_at: ':now + :retain_ms',
      received_at: ':now',
      ...GIVEN_FACTS,
    },
    ...(isReplay ? { inserts: IS_UNSEEN } : {}),
    ...accepting(`(${isFree}) AND ${isWanted}`, isReplay ? ` AND ${IS_UNSEEN}` : ''),
    set: [
      [
        'attempt',
        orNew(
          'attempt',
          'CASE WHEN stored.token = given.token THEN stored.attempt ELSE stored.attempt + 1 END',
        ),
      ],
      ['received_at', orNew('received_at')],
      ...KEPT_FACTS,
      ...UNHANDLED,
      ...CLEARED_IF_PAST,
      ['state', "'running'"],
      ['token', 'given.token'],
      ['lease_until', 'given.lease_until'],
      // A replay does not make an event be kept for longer, but it outlives the lease.
      [
        'expires_at',
        isReplay
          ? orNew(
              'expires_at',
              'CASE WHEN stored.expires_at > given.lease_until THEN stored.expires_at ELSE given.lease_until END',
            )
          : 'given.expires_at',
      ],
    ],
  }
}

/** A run that has lost its lease keeps its failure too, and leaves the state to whoever has the row. */
function failOf(isClaimed: boolean): Upsert {
  const isOver = (count: string, first: string): string =>
    `(:is_replay = 0 AND (${count} >= :park_attempts OR :now - ${first} >= :park_ms))`
  const count = orNew('fails', 'coalesce(stored.fails, 0)', '0')
  const firstAt = orNew('first_at', 'coalesce(stored.first_at, :now)', ':now')
  const isResent = `stored.state = 'released' AND ${IS_OWN} AND stored.failure IS NOT NULL`
  const isRefused = [IS_FINAL, isClaimed ? isResent : IS_HELD].map((one) => `(${one})`).join(' OR ')
  const isOthers = `stored.state = 'running' AND NOT (${IS_OWN})`
  return {
    fields: {
      key: 'key',
      token: 'token',
      retain_ms: 'ms',
      ...FACT_FIELDS,
      is_replay: 'integer',
      park_attempts: 'ms',
      park_ms: 'ms',
      ...Object.fromEntries(LATEST_COLUMNS.map((column) => [column, COLUMNS[column]])),
    },
    meeting: isClaimed ? 'holds' : 'yields',
    row: {
      event_key: ':key',
      state: "'released'",
      token: ':token',
      attempt: isClaimed ? '1' : '0',
      lease_until: '0',
      expires_at: ':now + :retain_ms',
      received_at: ':now',
      ...GIVEN_FACTS,
      failure: `CASE WHEN ${isOver('1', ':now')} THEN 'parked' ELSE 'failing' END`,
      failed_at: ':now',
      first_at: ':now',
      delivered_at: ':now',
      replayed_at: 'CASE WHEN :is_replay = 1 THEN :now END',
      fails: '1 - :is_replay',
      replays: ':is_replay',
      ...Object.fromEntries(LATEST_COLUMNS.map((column) => [column, `:${column}`])),
    },
    ...accepting(`NOT (${isRefused})`),
    set: [
      [
        'failure',
        orNew(
          'failure',
          `CASE WHEN coalesce(stored.failure, '') = 'parked' OR ${isOver(`${count} + 1`, firstAt)} THEN 'parked' ELSE 'failing' END`,
        ),
      ],
      ['received_at', orNew('received_at')],
      // A claim may have come without them.
      ...FACTS.map(
        (column) => [column, orNew(column, `coalesce(stored.${column}, given.${column})`)] as const,
      ),
      ...UNHANDLED,
      ['attempt', orNew('attempt')],
      ['lease_until', orNew('lease_until')],
      ['failed_at', ':now'],
      ['first_at', firstAt],
      [
        'delivered_at',
        `CASE WHEN :is_replay = 0 THEN :now ELSE ${orNew('delivered_at', 'coalesce(stored.delivered_at, :now)', ':now')} END`,
      ],
      [
        'replayed_at',
        `CASE WHEN :is_replay = 1 THEN :now ELSE ${orNew('replayed_at', 'stored.replayed_at', 'NULL')} END`,
      ],
      ['fails', `${count} + 1 - :is_replay`],
      ['replays', `${orNew('replays', 'coalesce(stored.replays, 0)', '0')} + :is_replay`],
      ...LATEST_COLUMNS.map((column) => [column, `given.${column}`] as const),
      // It stays for a replay, and while another delivery runs; assigned before the state and the token, which it reads.
      [
        'expires_at',
        `CASE WHEN :live AND (:is_replay = 1 OR ${isOthers}) THEN stored.expires_at ELSE given.expires_at END`,
      ],
      ['state', `CASE WHEN :live AND ${isOthers} THEN stored.state ELSE 'released' END`],
      ['token', orNew('token')],
    ],
  }
}

/** A final end clears the failure in the same write. */
function finalRow(state: CoreSql, reason: CoreSql): Upsert['row'] {
  return {
    event_key: ':key',
    state,
    token: ':token',
    attempt: '1',
    lease_until: '0',
    expires_at: ':now + :retain_ms',
    received_at: ':now',
    handled_at: ':now',
    reason,
  }
}

const STATE_OF_END = "CASE WHEN :reason IS NULL THEN 'handled' ELSE 'discarded' END"

const complete: Upsert = {
  fields: { key: 'key', token: 'token', retain_ms: 'ms', reason: 'message' },
  meeting: 'holds',
  // An absent row is written: its event was handled.
  row: finalRow(STATE_OF_END, ':reason'),
  ...accepting('stored.token = given.token'),
  set: [
    ['attempt', orNew('attempt')],
    ['received_at', orNew('received_at')],
    ...KEPT_FACTS,
    ['handled_at', `CASE WHEN :live AND ${IS_FINAL} THEN stored.handled_at ELSE :now END`],
    ['reason', `CASE WHEN :live AND ${IS_FINAL} THEN stored.reason ELSE given.reason END`],
    ...CLEARED,
    ['state', `CASE WHEN :live AND ${IS_FINAL} THEN stored.state ELSE given.state END`],
    ['token', 'given.token'],
    ['lease_until', '0'],
    ['expires_at', 'given.expires_at'],
  ],
}

/** An inbox takes the row in the transaction of the handler, and it is handled when that commits. */
function openOf(isReplay: boolean): Upsert {
  const isWanted = isReplay ? `${SEEN} = :seen` : "(stored.failure IS NULL OR stored.failure <> 'parked')"
  return {
    fields: {
      key: 'key',
      token: 'token',
      retain_ms: 'ms',
      ...FACT_FIELDS,
      ...(isReplay ? { seen: 'integer' as const } : {}),
    },
    meeting: 'opens',
    row: { ...finalRow("'handled'", 'NULL'), ...GIVEN_FACTS },
    ...(isReplay ? { inserts: IS_UNSEEN } : {}),
    ...accepting(
      `NOT (${IS_FINAL}) AND NOT (${IS_HELD}) AND ${isWanted}`,
      isReplay ? ` AND ${IS_UNSEEN}` : '',
    ),
    set: [
      ['attempt', orNew('attempt', `${SEEN} + 1`, '1')],
      ['received_at', orNew('received_at')],
      ...KEPT_FACTS,
      ['handled_at', ':now'],
      ['reason', orNew('reason', 'stored.reason', 'NULL')],
      ...CLEARED,
      ['state', "'handled'"],
      ['token', 'given.token'],
      ['lease_until', '0'],
      ['expires_at', 'given.expires_at'],
    ],
  }
}

const opened = openOf(false)

/** The end of a run whose transaction opens with it. It may have been overtaken: what was handled meanwhile, or has a lease, refuses it. */
const settle: Upsert = {
  fields: { ...opened.fields, reason: 'message' },
  meeting: 'yields',
  row: { ...finalRow(STATE_OF_END, ':reason'), ...GIVEN_FACTS },
  ...accepting(`NOT (${IS_FINAL}) AND NOT (${IS_HELD})`),
  set: opened.set.map(([column, value]) => [
    column,
    column === 'state' || column === 'reason' ? `given.${column}` : value,
  ]),
}

export type UpsertName =
  | 'claim'
  | 'claimReplay'
  | 'complete'
  | 'fail'
  | 'keep'
  | 'open'
  | 'openReplay'
  | 'settle'
export type UpdateName = 'complete' | 'renew' | 'release' | 'discard'

export const UPSERTS: Readonly<Record<UpsertName, Upsert>> = {
  claim: claimOf(false),
  claimReplay: claimOf(true),
  complete,
  fail: failOf(true),
  keep: failOf(false),
  open: opened,
  openReplay: openOf(true),
  settle,
}

const OF_HOLDER = { key: 'key', token: 'token' } as const

export const UPDATES: Readonly<Record<UpdateName, Update>> = {
  /** The usual end of a run, of an event that has not failed before. It changes no row in the other cases, which are left to `complete` above. */
  complete: {
    fields: complete.fields,
    meeting: 'holds',
    accepts: `${IS_OWN} AND ${IS_LIVE} AND NOT (${IS_FINAL}) AND stored.failure IS NULL`,
    set: [
      ['state', STATE_OF_END],
      ['lease_until', '0'],
      ['expires_at', ':now + :retain_ms'],
      ['handled_at', ':now'],
      ['reason', ':reason'],
    ],
  },
  renew: {
    fields: { ...OF_HOLDER, lease_ms: 'ms' },
    meeting: 'holds',
    accepts: `${IS_OWN} AND ${IS_LIVE} AND stored.state = 'running'`,
    set: [['lease_until', ':now + :lease_ms']],
  },
  release: {
    fields: OF_HOLDER,
    meeting: 'holds',
    accepts: `${IS_OWN} AND ${IS_LIVE} AND stored.state IN ('running', 'released')`,
    set: [['state', "'released'"]],
  },
  discard: {
    fields: { key: 'key', reason: 'message' },
    meeting: 'yields',
    accepts: `${IS_LIVE} AND NOT (${IS_FINAL}) AND NOT (${IS_HELD})`,
    set: [['state', "'discarded'"], ['reason', ':reason'], ['handled_at', ':now'], ...CLEARED],
  },
}

/** What a write changes in a row within its retention: less than in another, because it leaves some columns as they are. */
export function changedIfLive({ set }: Upsert): Upsert['set'] {
  return set.filter(([column, value]) => !value.startsWith(`CASE WHEN :live THEN stored.${column} ELSE `))
}

/** The columns of an inserted row, and their values, in the order of the table. */
export function insertedBy({ row }: Upsert): readonly (readonly [Column, CoreSql])[] {
  return COLUMN_NAMES.flatMap((column) => {
    const value = row[column]
    return value === undefined ? [] : [[column, value] as const]
  })
}
