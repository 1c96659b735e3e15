import { join } from 'node:path'
import { sqliteFailures, sqliteInbox, sqliteStore } from 'tix-webhooks/sqlite'
import { afterEach, beforeEach, describe } from 'vitest'
import { EFFECTS, sqliteHarness } from '../inbox-harnesses.js'
import { makeFolder, removeFolder } from '../server-process.js'
import { DRIVERS } from '../sqlite-drivers.js'
import { openDatabase, type TestDatabase } from '../sqlite-open.js'
import type { FailureBackend, OpenBackend, OurStore } from './kinds.js'

const drivers = DRIVERS.filter(({ isHere }) => isHere).map(({ name }) => name)

/** A file that each client opens by itself. */
async function openFile(driver: string) {
  const folder = await makeFolder()
  const opened: TestDatabase[] = []
  return {
    connect() {
      const db = openDatabase(driver, join(folder, 'app.db'))
      opened.push(db)
      return db
    },
    async close() {
      for (const db of opened) db.close()
      await removeFolder(folder)
    },
  }
}

async function openStore(driver: string): Promise<OpenBackend> {
  const { connect, close } = await openFile(driver)
  let now = Date.now()
  const create = async () => {
    const store = sqliteStore(connect(), { now: () => now })
    await store.migrate()
    return store
  }
  const advance = async (ms: number): Promise<void> => {
    now += ms
  }
  return { name: driver, create, createSecond: create, advance, close }
}

async function openFailures(driver: string): Promise<FailureBackend> {
  const { connect, close } = await openFile(driver)
  const create = async () => {
    const failures = sqliteFailures(connect())
    await failures.migrate()
    return failures
  }
  const first = await create()
  return { create, createSecond: create, purge: (options) => first.purge(options), close }
}

export const sqlite: OurStore = {
  entry: 'sqlite',
  describe,
  stores: drivers.map((driver) => ({ name: `sqliteStore on ${driver}`, open: () => openStore(driver) })),
  failures: drivers.map((driver) => ({
    name: `sqliteFailures on ${driver}`,
    open: () => openFailures(driver),
  })),
  inboxes: drivers.map((driver) => ({
    name: `sqliteInbox on ${driver}`,
    // It has no connection to lose, and no transaction within another.
    lacks: ['nest', 'cut'],
    use() {
      let file: Awaited<ReturnType<typeof openFile>>
      let db: TestDatabase
      beforeEach(async () => {
        file = await openFile(driver)
        db = file.connect()
        db.exec(EFFECTS)
        await sqliteInbox(db).migrate()
      })
      afterEach(() => file.close())
      return () => sqliteHarness(db) as never
    },
  })),
  proof: null,
}
