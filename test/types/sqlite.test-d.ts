import type BetterSqlite3 from 'better-sqlite3'
import type Libsql from 'libsql'
import type { Pool } from 'pg'
import { createReceiver, type IdempotencyStore, type Inbox, type OrderCreatedEvent } from 'tix-webhooks'
import {
  type SqliteDatabase,
  type SqliteInbox,
  type SqliteStore,
  type SqliteTransaction,
  sqliteInbox,
  sqliteStore,
} from 'tix-webhooks/sqlite'
import { describe, expectTypeOf, test } from 'vitest'

declare const better: BetterSqlite3.Database
declare const libsql: Libsql.Database
declare const pool: Pool

/** `DatabaseSync` of `node:sqlite` as in Node's own types, which Node 20's lack. */
interface DatabaseSync {
  prepare(sql: string): StatementSync
  exec(sql: string): void
  close(): void
}
type SQLInputValue = null | number | bigint | string | NodeJS.ArrayBufferView
interface StatementSync {
  all(...anonymous: SQLInputValue[]): Record<string, unknown>[]
  all(named: Record<string, SQLInputValue>, ...anonymous: SQLInputValue[]): Record<string, unknown>[]
  get(...anonymous: SQLInputValue[]): Record<string, unknown> | undefined
  get(
    named: Record<string, SQLInputValue>,
    ...anonymous: SQLInputValue[]
  ): Record<string, unknown> | undefined
  run(...anonymous: SQLInputValue[]): { changes: number | bigint; lastInsertRowid: number | bigint }
  run(
    named: Record<string, SQLInputValue>,
    ...anonymous: SQLInputValue[]
  ): { changes: number | bigint; lastInsertRowid: number | bigint }
}
declare const sync: DatabaseSync

describe('tix-webhooks/sqlite', () => {
  test('takes the databases of better-sqlite3, libsql and node:sqlite', () => {
    expectTypeOf<BetterSqlite3.Database>().toExtend<SqliteDatabase>()
    expectTypeOf<Libsql.Database>().toExtend<SqliteDatabase>()
    expectTypeOf<DatabaseSync>().toExtend<SqliteDatabase>()
    expectTypeOf(sqliteStore(better)).toEqualTypeOf<SqliteStore>()
    expectTypeOf(sqliteStore(libsql)).toEqualTypeOf<SqliteStore>()
    expectTypeOf(
      sqliteStore(sync, { table: 't', now: Date.now, purgeEverySeconds: 60 }),
    ).toExtend<IdempotencyStore>()
  })

  test('refuses anything but a database, and options that it does not have', () => {
    // @ts-expect-error a path
    sqliteStore('webhooks.db')
    // @ts-expect-error a pool
    sqliteInbox(pool)
    // @ts-expect-error nothing
    sqliteStore()
    // @ts-expect-error a typo
    sqliteStore(better, { tabel: 't' })
    // @ts-expect-error seconds
    sqliteInbox(better, { purgeEverySeconds: '60' })
  })

  test('gives effects the very database', () => {
    expectTypeOf(sqliteInbox(better)).toEqualTypeOf<SqliteInbox<BetterSqlite3.Database>>()
    expectTypeOf(sqliteInbox(libsql)).toEqualTypeOf<SqliteInbox<Libsql.Database>>()
    expectTypeOf(sqliteInbox(sync)).toEqualTypeOf<SqliteInbox<DatabaseSync>>()
    expectTypeOf(sqliteInbox(better)).toExtend<Inbox<SqliteTransaction<BetterSqlite3.Database>>>()

    const secret = 's'
    const namespace = 'orders'
    createReceiver({
      secret,
      namespace,
      inbox: sqliteInbox(better),
      on: {
        'order.created': (event, ctx) => {
          expectTypeOf(event).toEqualTypeOf<OrderCreatedEvent>()
          expectTypeOf(ctx.tx).toEqualTypeOf<SqliteTransaction<BetterSqlite3.Database>>()
          const changes = ctx.tx.commit((db) => {
            expectTypeOf(db).toEqualTypeOf<BetterSqlite3.Database>()
            return db.prepare('INSERT INTO orders (id) VALUES (?)').run(event.data.order.id).changes
          })
          expectTypeOf(changes).toEqualTypeOf<number>()
        },
      },
    })
    createReceiver({
      secret,
      namespace,
      inbox: sqliteInbox(libsql),
      on: {
        'event.*': async (_, ctx) => {
          ctx.tx.commit((db) => expectTypeOf(db).toEqualTypeOf<Libsql.Database>())
        },
      },
      onUnhandled: (_, ctx) => {
        ctx.tx.commit((db) => expectTypeOf(db).toEqualTypeOf<Libsql.Database>())
      },
    })
    createReceiver({
      secret,
      namespace,
      inbox: sqliteInbox(sync),
      on: {
        'order.created': (_, ctx) => {
          ctx.tx.commit((db) => expectTypeOf(db).toEqualTypeOf<DatabaseSync>())
        },
      },
    })
  })

  test('gives no transaction where there is a store', () => {
    createReceiver({
      secret: 's',
      namespace: 'orders',
      store: sqliteStore(better),
      on: {
        'order.created': (_, ctx) => {
          // @ts-expect-error a store has no transactions
          ctx.tx.commit(() => {})
        },
      },
    })
  })

  test('gives what the effects return', () => {
    const tx = {} as SqliteTransaction<BetterSqlite3.Database>
    expectTypeOf(tx.commit(() => {})).toEqualTypeOf<void>()
    expectTypeOf(tx.commit(() => null)).toEqualTypeOf<null>()
    expectTypeOf(tx.commit((db) => db.name)).toEqualTypeOf<string>()
  })
})

test('isNewest is synchronous, and takes the database of the inbox', () => {
  const inbox = sqliteInbox(better)
  const change = { subject: 's', at: '2026-11-22T10:00:00Z' }
  expectTypeOf(inbox.isNewest(better, change)).toEqualTypeOf<boolean>()
  expectTypeOf(inbox.isNewest(better, [change])).toEqualTypeOf<boolean[]>()
  // @ts-expect-error it is of another library
  inbox.isNewest(libsql, change)
})
