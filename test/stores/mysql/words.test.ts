import { type MysqlDriver, type MysqlPool, mysqlInbox, mysqlStore } from 'tix-webhooks/mysql'
import { describe, expect, test } from 'vitest'
import { failedDelivery } from '../../support/failed-delivery.js'

/**
 * Refused as the name of a column or an alias without quotes: by a MySQL 9.7 or a MariaDB 10.11, which were asked for each of their
 * keywords, or by another MySQL 8 or 9 or MariaDB according to their manuals; the names of functions with IGNORE_SPACE.
 */
const RESERVED = new Set(
  `
    ACCESSIBLE ADD ADDDATE ADMIN ALL ALTER ANALYZE AND ARRAY AS ASC ASENSITIVE BEFORE BETWEEN BIGINT BINARY BIT_AND BIT_OR BIT_XOR BLOB BOTH BY CALL
    CASCADE CASE CAST CHANGE CHAR CHARACTER CHECK COLLATE COLUMN CONDITION CONSTRAINT CONTINUE CONVERSION CONVERT COUNT CREATE CROSS CUBE CUME_DIST
    CURDATE CURRENT_DATE CURRENT_ROLE CURRENT_TIME CURRENT_TIMESTAMP CURRENT_USER CURSOR CURTIME DATABASE DATABASES DATE_ADD DATE_SUB DAY_HOUR
    DAY_MICROSECOND DAY_MINUTE DAY_SECOND DEC DECIMAL DECLARE DEFAULT DELAYED DELETE DELETE_DOMAIN_ID DENSE_RANK DESC DESCRIBE DETERMINISTIC DISTINCT
    DISTINCTROW DIV DOUBLE DO_DOMAIN_IDS DROP DUAL EACH ELSE ELSEIF EMPTY ENCLOSED ESCAPED EXCEPT EXISTS EXIT EXPLAIN EXTERNAL EXTRACT FALSE FETCH
    FIRST_VALUE FLOAT FLOAT4 FLOAT8 FOR FORCE FOREIGN FROM FULLTEXT FUNCTION GENERAL GENERATED GET GRANT GROUP GROUPING GROUPS GROUP_CONCAT HAVING
    HIGH_PRIORITY HOUR_MICROSECOND HOUR_MINUTE HOUR_SECOND IF IGNORE IGNORE_DOMAIN_IDS IGNORE_SERVER_IDS IN INDEX INFILE INNER INOUT INSENSITIVE INSERT
    INT INT1 INT2 INT3 INT4 INT8 INTEGER INTERSECT INTERVAL INTO IO_AFTER_GTIDS IO_BEFORE_GTIDS IS ITERATE JOIN JSON_TABLE KEY KEYS KILL LAG LAST_VALUE
    LATERAL LEAD LEADING LEAVE LEFT LIBRARY LIKE LIMIT LINEAR LINES LOAD LOCALTIME LOCALTIMESTAMP LOCK LONG LONGBLOB LONGTEXT LOOP LOW_PRIORITY MANUAL
    MASTER_BIND MASTER_DEMOTE_TO_REPLICA MASTER_DEMOTE_TO_SLAVE MASTER_HEARTBEAT_PERIOD MASTER_SSL_VERIFY_SERVER_CERT MATCH MAX MAXVALUE MEDIUMBLOB
    MEDIUMINT MEDIUMTEXT MEMBER MID MIDDLEINT MIN MINUTE_MICROSECOND MINUTE_SECOND MOD MODIFIES NATURAL NOT NOW NO_WRITE_TO_BINLOG NTH_VALUE NTILE NULL
    NUMERIC OF OFFSET ON OPTIMIZE OPTIMIZER_COSTS OPTION OPTIONALLY OR ORDER OUT OUTER OUTFILE OVER PAGE_CHECKSUM PARALLEL PARSE_VCOL_EXPR PARTITION
    PERCENT_RANK PORTION POSITION PRECISION PRIMARY PROCEDURE PURGE QUALIFY RANGE RANK READ READS READ_WRITE REAL RECURSIVE REFERENCES REF_SYSTEM_ID
    REGEXP RELEASE RENAME REPEAT REPLACE REQUIRE RESIGNAL RESTRICT RETURN RETURNING REVOKE RIGHT RLIKE ROLE ROW ROWS ROW_NUMBER SCHEMA SCHEMAS
    SECOND_MICROSECOND SELECT SENSITIVE SEPARATOR SESSION_USER SET SHOW SIGNAL SLOW SMALLINT SPATIAL SPECIFIC SQL SQLEXCEPTION SQLSTATE SQLWARNING
    SQL_BIG_RESULT SQL_BUFFER_RESULT SQL_CACHE SQL_CALC_FOUND_ROWS SQL_NO_CACHE SQL_SMALL_RESULT SSL STARTING STATS_AUTO_RECALC STATS_PERSISTENT
    STATS_SAMPLE_PAGES STD STDDEV STDDEV_POP STDDEV_SAMP STORED STRAIGHT_JOIN SUBDATE SUBSTR SUBSTRING SUM SYSDATE SYSTEM SYSTEM_USER TABLE TABLESAMPLE
    TERMINATED THEN TINYBLOB TINYINT TINYTEXT TO TRAILING TRIGGER TRIM TRUE UNDO UNION UNIQUE UNLOCK UNSIGNED UPDATE USAGE USE USING UTC_DATE UTC_TIME
    UTC_TIMESTAMP VALUES VARBINARY VARCHAR VARCHARACTER VARIANCE VARYING VAR_POP VAR_SAMP VECTOR VIRTUAL WHEN WHERE WHILE WINDOW WITH WRITE XOR
    YEAR_MONTH ZEROFILL
  `.split(/\s+/),
)

/** What a server may answer: a report on a write, or rows of this value. */
interface Answering {
  readonly id: number
  readonly count: number
  readonly value?: string
}

const ANSWERS: readonly Answering[] = [undefined, '0', '1', '2', 'x31'].flatMap((value) =>
  [0, 1, 2].map((id) => ({ id, count: id === 0 ? 0 : 1, ...(value !== undefined && { value }) })),
)

const COLUMNS = 12

/** Answers each statement in the same way, and keeps its text. */
function recorder({ id, count, value }: Answering) {
  const sent: string[] = []
  const answer = async (sql: string): Promise<unknown> => {
    sent.push(sql)
    // Without these answers nothing else is sent.
    if (sql.includes('DATABASE()')) return [['x31']]
    if (sql.includes('@@autocommit')) return [[1]]
    if (!/^\s*SELECT/.test(sql)) return { affectedRows: count, insertId: id }
    return value === undefined ? [] : [Array(COLUMNS).fill(value)]
  }
  const connection = {
    threadId: 1,
    query: ({ sql }: { sql: string }) => answer(sql),
    release() {},
    destroy() {},
    on() {},
    removeListener() {},
  }
  const pool: MysqlPool = {
    getConnection: async () => connection,
    query: ({ sql }) => answer(sql),
    end: async () => {},
  }
  const driver: MysqlDriver<object> = {
    transaction: (work) => work({}),
    query: (_, sql) => answer(sql),
  }
  return { sent, pool, driver }
}

const LEASE_MS = 60_000
const lease = (key: string) => ({ key, token: 't', leaseMs: LEASE_MS, retainMs: LEASE_MS })
const request = (key: string | null) => ({ key, retainMs: LEASE_MS })
const FAILED = failedDelivery({ parkAfter: { attempts: 2, ms: 2 } })
const POSITION = { receivedAt: new Date(1), key: 'k' }

/** What each method is called with: several at once, because calls that wait together are sent in other statements. */
const CALLS: Readonly<Record<string, readonly (readonly unknown[])[]>> = {
  claim: [...['a', 'b', 'c', 'd'].map((key) => [lease(key)]), [{ ...lease('e'), replay: { seen: 1 } }]],
  renew: ['a', 'b', 'c', 'd'].map((key) => [lease(key), LEASE_MS]),
  complete: ['a', 'b', 'c', 'd'].map((key) => [lease(key), LEASE_MS]),
  release: ['a', 'b', 'c', 'd'].map((key) => [lease(key)]),
  isHandled: ['a', 'b', 'c', 'd'].map((key) => [key]),
  check: [[]],
  purge: [[]],
  migrate: [[]],
  once: [[request('k')], [{ ...request('k'), replay: { seen: 1 } }], [request(null)]],
  keep: [[FAILED], [{ ...FAILED, isReplay: true, account: 'a', orderId: 'o', eventId: 'e' }]],
  fail: [[lease('k'), FAILED]],
  forget: [['k']],
  get: [['k']],
  discard: [['k', { reason: 'by hand' }]],
  list: [
    [],
    [
      {
        state: 'parked',
        kind: 'k',
        group: 'g',
        orderId: 'o',
        order: 'oldest',
        after: POSITION,
        before: POSITION,
      },
    ],
  ],
  groups: [[], [{ account: 'a', namespace: 'n', eventId: 'e' }]],
  count: [[{ state: 'failing' }]],
}
const NOT_SENDING = ['hint', 'recordIfNewest']

/** The statements of all methods, whatever the server answers, by method. */
async function statements(): Promise<Map<string, Set<string>>> {
  const found = new Map<string, Set<string>>()
  for (const answering of ANSWERS) {
    for (const library of ['pool', 'driver'] as const) {
      const recorded = recorder(answering)
      const client = recorded[library] as MysqlPool
      const inbox = mysqlInbox(client)
      const stores = library === 'pool' ? [mysqlStore(recorded.pool)] : []
      for (const one of [...stores, inbox, ...stores.map(({ ledger }) => ledger)]) {
        for (const [name, method] of Object.entries(one)) {
          if (typeof method !== 'function' || NOT_SENDING.includes(name)) continue
          const calls = CALLS[name] ?? expect.fail(`Add ${name} to the calls of this test`)
          const work = async (tx: never) =>
            void (await inbox.recordIfNewest(tx, [{ subject: 's', at: '2026-11-28T00:00:00Z' }]))
          // Most answers are none that the method knows.
          await Promise.allSettled(
            calls.map((given) => method.call(one, ...given, ...(name === 'once' ? [work] : []))),
          )
          const of = found.get(name) ?? new Set()
          for (const sql of recorded.sent.splice(0)) of.add(sql)
          found.set(name, of)
        }
      }
    }
  }
  return found
}

/** Words of SQL are in capital letters, or functions; names are not, unless they are quoted. */
function bareNames(sql: string): string[] {
  const bare = sql.replaceAll(/`[^`]*`|'[^']*'|@+\w+/g, ' ')
  return bare.match(/[A-Za-z_]\w*\b(?!\()/g)?.filter((word) => word !== word.toUpperCase()) ?? []
}

describe('the names in our statements', () => {
  test('are quoted, or are words that no server reserves', async () => {
    const byMethod = await statements()
    const silent = Object.keys(CALLS).filter((name) => (byMethod.get(name)?.size ?? 0) === 0)
    expect(silent).toEqual([])
    const all = [...byMethod.values()].flatMap((sent) => [...sent])
    // Statements for several calls, and of recordIfNewest, are sent only after the right answers.
    const rare = [/ AS asked STRAIGHT_JOIN/, /_newest`\s+WHERE subject IN/, /DELETE [^;]* AS expired/]
    expect(rare.filter((pattern) => !all.some((sql) => pattern.test(sql)))).toEqual([])
    const reserved = new Set(all.flatMap(bareNames).filter((name) => RESERVED.has(name.toUpperCase())))
    // With the first statement that has it.
    const found = [...reserved].map((name) => [name, all.find((sql) => bareNames(sql).includes(name))])
    expect(found).toEqual([])
  })
})
