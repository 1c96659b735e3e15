import { describe, expect, test } from 'vitest'
import * as mysqlAdvice from '../../stores/mysql/advice.js'
import { databaseOf } from '../../stores/mysql/database.js'
import { tableOf as mysqlTable } from '../../stores/mysql/table.js'
import { tableOf as postgresTable } from '../../stores/postgres/table.js'
import { locationOf } from '../../stores/postgres/table-location.js'

const migrate = 'store.migrate()'
const postgres = postgresTable({ location: locationOf('seen'), columns: {}, indexes: {}, migrate })
const mysql = mysqlTable({
  database: databaseOf({}),
  given: 'seen',
  columns: { key: 'INT' },
  indexes: {},
  migrate,
})

const fault = (more: object, message = 'what it says'): Error => Object.assign(new Error(message), more)
/** An error of Postgres, by its SQLSTATE, or of a socket or a client. */
const coded = (code: string, message?: string): Error => fault({ code }, message)
/** As both clients of MySQL have an error of the server. */
const numbered = (errno: number, sqlState = 'HY000', message?: string): Error =>
  fault({ errno, sqlState, code: `ER_${errno}` }, message)
/** As Prisma passes on an error of the server, with an adapter and without. */
const prismas = (originalCode: string): Error =>
  fault({
    code: 'P2010',
    meta: { driverAdapterError: { cause: { originalCode, originalMessage: 'what it says' } } },
  })
const oldPrismas = (code: string): Error => fault({ code: 'P2010', meta: { code, message: 'what it says' } })
const caused = (cause: unknown): Error => new Error('query failed', { cause })

const CERTIFICATES = [
  'CERT_HAS_EXPIRED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
].map((code) => coded(code))

/** The advice, and the errors that it is for. */
type Row = readonly [advice: RegExp, ...errors: readonly unknown[]]

const PG_OTHER = /^The table "seen" was created by another version.*store\.migrate\(\) lists the differences/
const PG_READ_ONLY = /^This database is read-only, such as a replica: connect the pool to the primary/
const PG_SLOW = /^No connection was free within the time-out/
const PG_STARTING = /^Postgres is shutting down or starting/
const PG_UNREACHABLE = /^Postgres could not be reached/
const PG_NO_SERVER = /^There is no Postgres at the host and port/

const POSTGRES: readonly Row[] = [
  [/^The table "seen" is missing: run store\.migrate\(\)/, coded('42P01')],
  [/^The schema of the table "seen" is missing/, coded('3F000')],
  [PG_OTHER, coded('42703'), coded('42P10'), coded('42804'), coded('42883')],
  [
    /^The user of this connection has no rights on "seen": .*SELECT, INSERT, UPDATE and DELETE/,
    coded('42501'),
  ],
  [/^The database of the connection does not exist/, coded('3D000')],
  [/^Postgres refused the user or the password of the connection\.$/, coded('28000'), coded('28P01')],
  [/^A lock was not free within lock_timeout: .*hold "seen"/, coded('55P03')],
  [/^Postgres canceled the statement: it took longer than statement_timeout/, coded('57014')],
  [/^Postgres could not serialize/, coded('40001')],
  [/^Two transactions waited for each other/, coded('40P01')],
  [/^The disk of Postgres is full/, coded('53100')],
  [/^Postgres is out of memory/, coded('53200')],
  [/^Postgres has no connection left/, coded('53300')],
  [PG_READ_ONLY, coded('25006'), prismas('25006'), caused(coded('25006'))],
  [PG_READ_ONLY, coded('0A000', 'cannot use serializable mode in a hot standby')],
  [PG_READ_ONLY, fault({ original: coded('25006') }), fault({ driverError: coded('25006') })],
  [/^A prepared statement was made on another connection/, coded('26000')],
  [PG_STARTING, coded('57P01'), coded('57P02'), coded('57P03')],
  [/^Prisma got no connection within maxWait .*, or ended/, coded('P2028')],
  [PG_NO_SERVER, coded('ECONNREFUSED'), coded('ENOTFOUND')],
  [PG_SLOW, coded('CONNECT_TIMEOUT'), new Error('timeout exceeded when trying to connect')],
  [/^The pool is closed/, new Error('Cannot use a pool after calling end on the pool')],
  [/^The pool is closed/, coded('CONNECTION_ENDED', 'write CONNECTION_ENDED 127.0.0.1:5432')],
  [
    /^The inbox could not be used: as, the driver, or the library/,
    new TypeError('drizzle is not a function'),
  ],
  [/^Postgres failed with XX999/, coded('XX999')],
  [PG_UNREACHABLE, coded('EPIPE'), coded('P1001')],
  [/^Postgres could not be reached.*PgBouncer in statement mode/, coded('CONNECTION_CLOSED')],
  [/, refused what the connection sent/, coded('08P01', 'unexpected end of message')],
  // The words of servers, poolers and clients, as they were found on each.
  [
    /^PgBouncer refused the transaction.*statement mode/,
    coded('08P01', 'transaction blocks not allowed in statement pooling mode'),
  ],
  [/^Postgres refused the user/, coded('08P01', '"trust" authentication failed')],
  [
    /^Row-level security on "seen"/,
    coded('42501', 'new row violates row-level security policy for table "seen"'),
  ],
  [
    /^Postgres accepts no such connection/,
    coded('28000', 'no pg_hba.conf entry for host "127.0.0.1", user "app", database "app", no encryption'),
  ],
  [
    /^Postgres refused the user or the password/,
    new Error('SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string'),
  ],
  [/does not speak TLS/, new Error('The server does not support SSL connections')],
  [
    /does not speak TLS/,
    coded('ECONNRESET', 'Client network socket disconnected before secure TLS connection was established'),
  ],
  [/^The certificate of Postgres could not be verified/, ...CERTIFICATES],
]

const MY_OTHER =
  /^The table `seen` was created by another version or another program: store\.migrate\(\) lists the differences/
const MY_NO_RIGHTS =
  /^The user of this connection has no rights on `seen`: .*SELECT, INSERT, UPDATE and DELETE/
const MY_READ_ONLY = /^This server is read-only, such as a replica/
const MY_SLOW = /^No connection was free within the time-out/
const MY_UNREACHABLE = /^The database could not be reached, or closed the connection/
const MY_NO_SERVER = /^There is no server at the host and port/
const MY_REFUSED = /^The server refused the user or the password of the connection\.$/
const refused = fault({ errno: -111, code: 'ECONNREFUSED' })

const MYSQL: readonly Row[] = [
  [/^The table `seen` is missing: run store\.migrate\(\)/, numbered(1146, '42S02')],
  [/^The database of the connection, or of the table option, does not exist/, numbered(1049, '42000')],
  [/^The connection has no database: name one/, numbered(1046, '3D000')],
  [MY_OTHER, numbered(1054, '42S22'), numbered(1364)],
  [MY_NO_RIGHTS, ...[1044, 1142, 1143, 1227].map((number) => numbered(number, '42000'))],
  [MY_REFUSED, numbered(1045, '28000', "Access denied for user 'app' (hunter2)")],
  [/^A lock was not free within innodb_lock_wait_timeout: .*hold `seen`/, numbered(1205)],
  [/^Transactions waited for each other again and again/, numbered(1213, '40001')],
  [/^A disk or a table of the server is full/, numbered(1021), numbered(1114)],
  [/^The server has no connection left.*max_connections/, numbered(1040), numbered(1203), numbered(1226)],
  [MY_READ_ONLY, numbered(1290), numbered(1836), numbered(1792)],
  [MY_READ_ONLY, caused(numbered(1290)), fault({ driverError: numbered(1290) })],
  [
    MY_READ_ONLY,
    fault({ parent: {}, original: numbered(1290) }),
    caused(fault({ original: numbered(1290) })),
  ],
  [MY_READ_ONLY, prismas('1290'), oldPrismas('1290')],
  [/^The server is shutting down, or this connection was killed/, numbered(1053), numbered(1927)],
  [/^The server canceled the statement/, numbered(1317), numbered(1969), numbered(3024)],
  [/^The server does not know this SQL: it must be MySQL 8\.0, MariaDB 10\.6/, numbered(1064, '42000')],
  [/^The statement is larger than max_allowed_packet/, numbered(1153, '08S01')],
  [/^sql_safe_updates is on/, numbered(1175)],
  [/binlog_format to ROW or MIXED/, numbered(1665)],
  [/^The database failed with error 1067, which the cause/, numbered(1067)],
  [MY_NO_SERVER, refused, fault({ errno: -3008, code: 'ENOTFOUND' })],
  [MY_SLOW, fault({ errno: -110, code: 'ETIMEDOUT' })],
  [MY_SLOW, fault({ errno: 45028, sqlState: 'HY000', code: 'ER_GET_CONNECTION_TIMEOUT' })],
  // A pool of mariadb says only that it has no connection, and its cause why.
  [MY_REFUSED, caused(Object.assign(numbered(45028), { cause: numbered(1045, '28000') }))],
  [MY_NO_SERVER, Object.assign(numbered(45028), { cause: refused })],
  [/allowPublicKeyRetrieval: true/, Object.assign(numbered(45028), { cause: numbered(45044, '08S01') })],
  [/^The server is a MySQL, .* remove queryTimeout/, numbered(45038)],
  [MY_UNREACHABLE, numbered(45030), coded('AUTH_SWITCH_PLUGIN_ERROR')],
  [
    /^The certificate of the server .* ssl: \{ ca \}/,
    ...CERTIFICATES.map((cause) => Object.assign(numbered(45028), { cause })),
  ],
  [
    /^The certificate of the server/,
    coded('HANDSHAKE_SSL_ERROR', 'self-signed certificate in certificate chain'),
  ],
  [MY_UNREACHABLE, coded('HANDSHAKE_SSL_ERROR', 'wrong version number')],
  [/^The pool is closed: drain the receiver/, numbered(45027), new Error('Pool is closed.')],
  [MY_UNREACHABLE, fault({ errno: -104, code: 'ECONNRESET' }), fault({ code: 'PROTOCOL_CONNECTION_LOST' })],
  [MY_UNREACHABLE, numbered(45009, '08S01'), undefined, 'no'],
  [/^Prisma got no connection within maxWait/, fault({ code: 'P2028' })],
  [
    /^The inbox could not be used: as, the driver, or the library/,
    new TypeError('drizzle is not a function'),
  ],
]

describe.each([
  { name: 'Postgres', table: postgres, rows: POSTGRES },
  { name: 'MySQL', table: mysql, rows: MYSQL },
])('the advice on an error of $name', ({ table, rows }) => {
  test.each(rows)('is: %s', (message, ...errors) => {
    for (const error of errors) {
      const advice = table.unavailable(error)
      expect(advice.message).toMatch(message as RegExp)
      expect(advice.message).not.toMatch(/hunter2|what it says/)
      expect([advice.code, advice.cause]).toEqual(['store_unavailable', error])
      expect(table.unavailable(advice)).toBe(advice)
    }
  })
})

const ROLLED_BACK =
  /^Postgres rolled back all that the handler had written: one of its SQL statements failed and it went on\./
const FAILED_AT_END =
  /^Postgres rolled back .*, or the end of its transaction failed: .* the flush of MikroORM/
const AT_COMMIT: readonly Row[] = [
  [FAILED_AT_END, coded('23503'), caused(coded('23505'))],
  [ROLLED_BACK, coded('25P02'), prismas('25P02')],
  [/^Prisma got no connection within maxWait .*, or ended/, coded('P2028')],
  [PG_STARTING, coded('57P01')],
  [/^The disk of Postgres is full/, coded('53100')],
  [/^Postgres could not serialize/, coded('40001')],
  [/^Postgres canceled the statement/, coded('57014')],
  // Nobody knows what became of the COMMIT.
  [PG_UNREACHABLE, coded('P1001'), coded('08006'), coded('ECONNRESET'), coded('EPIPE', 'write EPIPE')],
]

test.each(AT_COMMIT)('the advice on an error of Postgres at COMMIT is: %s', (message, ...errors) => {
  for (const error of errors) expect(postgres.notCommitted(error).message).toMatch(message as RegExp)
})

const { isConflict, isOfOneRow } = mysqlAdvice
const deadlock = numbered(1213, '40001')
const NO_ANSWER = fault({ code: 'PROTOCOL_CONNECTION_LOST' })

test.each<[what: string, isSo: (error: unknown) => boolean, errors: unknown[], others: unknown[]]>([
  [
    'a conflict, also if it was wrapped,',
    isConflict,
    [deadlock, caused(deadlock), prismas('1213'), oldPrismas('1213')],
    [numbered(1205), fault({}), undefined],
  ],
  [
    // A CHECK of MariaDB and of MySQL, a SIGNAL of a trigger, a value out of range, a lock.
    'of one row',
    isOfOneRow,
    [
      numbered(4025, '23000'),
      numbered(3819),
      numbered(1644, '45000'),
      numbered(1264, '22003'),
      numbered(1205),
    ],
    [numbered(1146, '42S02'), numbered(1142, '42000'), numbered(1021), NO_ANSWER],
  ],
])('an error of MySQL that is %s is known', (_, isSo, errors, others) => {
  expect([errors.map(isSo), others.map(isSo)]).toEqual([errors.map(() => true), others.map(() => false)])
})
