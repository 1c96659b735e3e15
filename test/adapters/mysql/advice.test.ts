import { describe, expect, test } from 'vitest'
import { isAbout, isConflict, isOfOneRow } from '../../../adapters/mysql/advice.js'
import { databaseOf } from '../../../adapters/mysql/database.js'
import { tableOf } from '../../../adapters/mysql/table.js'

const table = tableOf({
  database: databaseOf({}),
  given: 'seen',
  columns: { key: 'INT' },
  indexes: {},
  migrate: 'store.migrate()',
})

const fault = (more: object, message = 'what it says'): Error => Object.assign(new Error(message), more)
/** As both clients have an error of the server. */
const numbered = (errno: number, sqlState = 'HY000', message?: string): Error =>
  fault({ errno, sqlState, code: `ER_${errno}` }, message)

/** As Prisma passes one on, with an adapter and without. */
const prismas = (originalCode: string): Error =>
  fault({
    code: 'P2010',
    meta: { driverAdapterError: { cause: { originalCode, originalMessage: 'what it says' } } },
  })
const oldPrismas = (code: string): Error => fault({ code: 'P2010', meta: { code, message: 'what it says' } })

const READ_ONLY = /^This server is read-only, such as a replica/
const SLOW = /^No connection was free within the time-out/
const CLOSED = /^The pool is closed: drain the receiver/
const UNREACHABLE = /^The database could not be reached, or closed the connection/
const OTHER_TABLE =
  /^The table `seen` was created by another version or another program: store\.migrate\(\) lists the differences/
const NO_RIGHTS = /^The user of this connection has no rights on `seen`: .*SELECT, INSERT, UPDATE and DELETE/

describe('the advice on an error of MySQL', () => {
  test.each<[string, unknown, RegExp]>([
    ['a missing table', numbered(1146, '42S02'), /^The table `seen` is missing: run store\.migrate\(\)/],
    [
      'a missing database',
      numbered(1049, '42000'),
      /^The database of the connection, or of the table option, does not exist/,
    ],
    ['no database', numbered(1046, '3D000'), /^The connection has no database: name one/],
    ['a missing column', numbered(1054, '42S22'), OTHER_TABLE],
    ['another column', numbered(1364), OTHER_TABLE],
    ...[1044, 1142, 1143, 1227].map((number): [string, unknown, RegExp] => [
      'no rights',
      numbered(number, '42000'),
      NO_RIGHTS,
    ]),
    [
      'a wrong password',
      numbered(1045, '28000', "Access denied for user 'app' (hunter2)"),
      /^The server refused the user or the password of the connection\.$/,
    ],
    [
      'a lock that is held',
      numbered(1205),
      /^A lock was not free within innodb_lock_wait_timeout: .*hold `seen`/,
    ],
    ['a deadlock', numbered(1213, '40001'), /^Transactions waited for each other again and again/],
    ...[1021, 1114].map((number): [string, unknown, RegExp] => [
      'a full server',
      numbered(number),
      /^A disk or a table of the server is full/,
    ]),
    ...[1040, 1203, 1226].map((number): [string, unknown, RegExp] => [
      'too many connections',
      numbered(number),
      /^The server has no connection left.*max_connections/,
    ]),
    ...[1290, 1836, 1792].map((number): [string, unknown, RegExp] => [
      'a replica',
      numbered(number),
      READ_ONLY,
    ]),
    ...[1053, 1927].map((number): [string, unknown, RegExp] => [
      'a server that ends',
      numbered(number),
      /^The server is shutting down, or this connection was killed/,
    ]),
    ...[1317, 1969, 3024].map((number): [string, unknown, RegExp] => [
      'one that took too long',
      numbered(number),
      /^The server canceled the statement/,
    ]),
    [
      'an old server',
      numbered(1064, '42000'),
      /^The server does not know this SQL: it must be MySQL 8\.0, MariaDB 10\.6/,
    ],
    [
      'a statement that is too large',
      numbered(1153, '08S01'),
      /^The statement is larger than max_allowed_packet/,
    ],
    ['binlog_format = STATEMENT', numbered(1665), /binlog_format to ROW or MIXED/],
    ['another error of the server', numbered(1067), /^The database failed with error 1067, which the cause/],
    [
      'a refused connection',
      fault({ errno: -111, code: 'ECONNREFUSED' }),
      /^There is no server at the host and port/,
    ],
    [
      'a host without an address',
      fault({ errno: -3008, code: 'ENOTFOUND' }),
      /^There is no server at the host and port/,
    ],
    ['a slow connection', fault({ errno: -110, code: 'ETIMEDOUT' }), SLOW],
    [
      'a pool of mariadb that is too small',
      fault({ errno: 45028, sqlState: 'HY000', code: 'ER_GET_CONNECTION_TIMEOUT' }),
      SLOW,
    ],
    [
      'a pool of mariadb that has no connection because of the password',
      new Error('out', { cause: Object.assign(numbered(45028), { cause: numbered(1045, '28000') }) }),
      /^The server refused the user or the password/,
    ],
    [
      'a pool of mariadb that has no connection because of the server',
      Object.assign(numbered(45028), { cause: fault({ errno: -111, code: 'ECONNREFUSED' }) }),
      /^There is no server at the host and port/,
    ],
    [
      'a pool of mariadb that was ended',
      fault({ errno: 45027, sqlState: 'HY000', code: 'ER_POOL_ALREADY_CLOSED' }),
      CLOSED,
    ],
    ['a pool of mysql2 that was ended', fault({}, 'Pool is closed.'), CLOSED],
    ['a reset', fault({ errno: -104, code: 'ECONNRESET' }), UNREACHABLE],
    ['a connection that hung up', fault({ code: 'PROTOCOL_CONNECTION_LOST' }), UNREACHABLE],
    ['the timeout of Prisma', fault({ code: 'P2028' }), /^Prisma got no connection within maxWait/],
    [
      'an error of as',
      new TypeError('drizzle is not a function'),
      /^The inbox could not be used: as, the driver, or the library/,
    ],
    ['one that Drizzle wrapped', new Error('Failed query', { cause: numbered(1290) }), READ_ONLY],
    ['one that TypeORM wrapped', fault({ driverError: numbered(1290) }), READ_ONLY],
    ['one that Sequelize wrapped', fault({ parent: {}, original: numbered(1290) }), READ_ONLY],
    [
      'one that was wrapped twice',
      new Error('out', { cause: fault({ original: numbered(1290) }) }),
      READ_ONLY,
    ],
    ['one that Prisma wrapped', prismas('1290'), READ_ONLY],
    ['one that Prisma wrapped without an adapter', oldPrismas('1290'), READ_ONLY],
    ['nothing', undefined, UNREACHABLE],
    ['a text', 'no', UNREACHABLE],
  ])('knows %s', (_, error, message) => {
    const advice = table.unavailable(error)
    expect(advice.message).toMatch(message)
    expect(advice.message).not.toMatch(/hunter2|what it says/)
    expect([advice.code, advice.cause]).toEqual(['store_unavailable', error])
    expect(table.unavailable(advice)).toBe(advice)
  })

  test('knows a deadlock, also if it was wrapped', () => {
    const deadlock = numbered(1213, '40001')
    const wrapped = [deadlock, new Error('out', { cause: deadlock }), prismas('1213'), oldPrismas('1213')]
    expect(wrapped.map(isConflict)).toEqual(wrapped.map(() => true))
    expect([numbered(1205), fault({}), undefined].map(isConflict)).toEqual([false, false, false])
  })

  test.each<[string, Error, boolean]>([
    ['a CHECK of MariaDB', numbered(4025, '23000'), true],
    ['a CHECK of MySQL', numbered(3819), true],
    ['a SIGNAL of a trigger', numbered(1644, '45000'), true],
    ['a value out of range', numbered(1264, '22003'), true],
    ['a lock', numbered(1205), true],
    ['a missing table', numbered(1146, '42S02'), false],
    ['no rights', numbered(1142, '42000'), false],
    ['a full disk', numbered(1021), false],
    ['a lost connection', fault({ code: 'PROTOCOL_CONNECTION_LOST' }), false],
  ])('knows whether %s is of one row', (_, error, isOf) => {
    expect(isOfOneRow(error)).toBe(isOf)
  })

  test('knows which table it is about', () => {
    const missing = numbered(1146, '42S02', "Table 'app.seen' doesn't exist")
    expect(isAbout(missing, { table: 'seen' })).toBe(true)
    expect(
      isAbout(numbered(1142, '42000', 'DELETE command denied for table `app`.`seen`'), { table: 'seen' }),
    ).toBe(true)
    expect(isAbout(missing, { table: 'see' })).toBe(false)
    expect(isAbout(numbered(1205, 'HY000', 'seen'), { table: 'seen' })).toBe(false)
  })
})
