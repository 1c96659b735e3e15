import { describe, expect, test } from 'vitest'
import { tableOf } from '../../../adapters/postgres/table.js'
import { locationOf } from '../../../adapters/postgres/table-location.js'

const table = tableOf({ location: locationOf('seen'), columns: {}, migrate: 'store.migrate()' })
const fault = (code: string | undefined, message = 'what it says'): Error =>
  Object.assign(new Error(message), code === undefined ? {} : { code })

const CLOSED = /^The pool is closed/
const SLOW = /^No connection was free within the time-out/
const STARTING = /^Postgres is shutting down or starting/
const UNREACHABLE = /^Postgres could not be reached/
const ROLLED_BACK =
  /^Postgres rolled back all that the handler had written: one of its SQL statements failed and it went on\./
const FAILED_AT_END =
  /^Postgres rolled back .*, or the end of its transaction failed: .* the flush of MikroORM/

/** As Prisma passes on an error of the server. */
const prismas = (originalCode: string): Error =>
  Object.assign(fault('P2010'), {
    meta: { driverAdapterError: { cause: { originalCode, originalMessage: 'what it says' } } },
  })

describe('the advice on an error of Postgres', () => {
  test.each<[string, Error, RegExp]>([
    ['a missing table', fault('42P01'), /^The table "seen" is missing: run store\.migrate\(\)/],
    [
      'a missing column',
      fault('42703'),
      /^The table "seen" was created by another version.*store\.migrate\(\) lists the differences/,
    ],
    ['a wrong password', fault('28P01'), /^Postgres refused the user or the password of the connection\.$/],
    ['no memory', fault('53200'), /^Postgres is out of memory/],
    ['what nobody has heard of', fault('XX999'), /^Postgres failed with XX999/],
    ['no rights', fault('42501'), /^The user of this connection has no rights on "seen"/],
    ['a replica', fault('25006'), /^This database is read-only/],
    ['an error that Prisma wrapped', prismas('25006'), /^This database is read-only/],
    [
      'an error that a library wrapped',
      new Error('query failed', { cause: fault('25006') }),
      /^This database is read-only/,
    ],
    [
      'a pool of pg that was ended',
      fault(undefined, 'Cannot use a pool after calling end on the pool'),
      CLOSED,
    ],
    [
      'a postgres.js that was ended',
      fault('CONNECTION_ENDED', 'write CONNECTION_ENDED 127.0.0.1:5432'),
      CLOSED,
    ],
    [
      'an error that Sequelize wrapped',
      Object.assign(new Error('query failed'), { original: fault('25006') }),
      /^This database is read-only/,
    ],
    [
      'a refused connection',
      fault('ECONNREFUSED', 'connect ECONNREFUSED'),
      /^There is no Postgres at the host and port/,
    ],
    ['a pool that is too small', fault(undefined, 'timeout exceeded when trying to connect'), SLOW],
    [
      'a server that shuts down',
      fault('57P01', 'terminating connection due to administrator command'),
      STARTING,
    ],
    ['a server that hung up', fault('EPIPE', 'This socket has been ended by the other party'), UNREACHABLE],
    [
      'a server that hung up in the middle of an answer',
      fault('08P01', 'unexpected end of message'),
      UNREACHABLE,
    ],
  ])('knows %s', (_, error, message) => {
    const advice = table.unavailable(error)
    expect(advice.message).toMatch(message)
    expect(advice.message).not.toMatch(/what it says/)
    expect([advice.code, advice.cause]).toEqual(['store_unavailable', error])
    expect(table.unavailable(advice)).toBe(advice)
  })

  test.each<[string, Error, RegExp]>([
    ['a deferred constraint', fault('23503'), FAILED_AT_END],
    ['a statement that had failed', fault('25P02'), ROLLED_BACK],
    ['one that a library wrapped', new Error('query failed', { cause: fault('23505') }), FAILED_AT_END],
    ['the timeout of Prisma', fault('P2028'), /^Prisma got no connection within maxWait .*, or ended/],
    ['a statement that had failed, in Prisma', prismas('25P02'), ROLLED_BACK],
    ['a server that Prisma cannot reach', fault('P1001'), UNREACHABLE],
    ['a connection that broke', fault('08006'), UNREACHABLE],
    ['a server that shut down', fault('57P01'), STARTING],
    ['a server that is full', fault('53100'), /^The disk of Postgres is full/],
    ['a conflict with others', fault('40001'), /^Postgres could not serialize/],
    ['a deadlock', fault('40P01'), /^Two transactions waited/],
    ['one that took too long', fault('57014'), /^Postgres canceled the statement/],
    ['a reset', fault('ECONNRESET'), UNREACHABLE],
    // Nobody knows what became of the COMMIT.
    ['a pipe that broke', fault('EPIPE', 'write EPIPE'), UNREACHABLE],
  ])('at COMMIT knows %s', (_, error, message) => {
    expect(table.notCommitted(error).message).toMatch(message)
  })
})
