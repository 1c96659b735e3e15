import { sqliteInbox, sqliteStore } from 'tix-webhooks/sqlite'
import { expect, test } from 'vitest'
import { claim } from '../../support/sqlite-claims.js'
import { onEachDriver } from '../../support/sqlite-drivers.js'
import { rowOf, valuesOf } from '../../support/sqlite-open.js'

onEachDriver('the table option', ({ open }) => {
  test.each(['Orders_2', '_', 'select', 'x'.repeat(48)])('names the table %s', async (table) => {
    const db = open()
    const store = sqliteStore(db, { table })
    const inbox = sqliteInbox(db, { table: `i${table.slice(1)}` })
    await store.migrate()
    await inbox.migrate()
    expect(await claim(store, 'k', 'a')).toEqual({ status: 'claimed', attempt: 1 })
    expect(await inbox.once({ key: 'k', retainMs: 1_000 }, async () => {})).toEqual({ status: 'handled' })
    expect(rowOf(db, `SELECT key, state FROM "${table}"`)).toEqual({ key: 'k', state: 'running' })
    expect(valuesOf(db, "SELECT name FROM sqlite_master WHERE name LIKE 'tix%'")).toEqual([])
  })
})
