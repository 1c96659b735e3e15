import { join } from 'node:path'
import { type SqliteFailures, sqliteFailures } from 'tix-webhooks/sqlite'
import { describe } from 'vitest'
import type { FailureKind } from './failure-backends.js'
import { makeFolder, removeFolder } from './server-process.js'
import { DRIVERS } from './sqlite-drivers.js'
import { openDatabase, type TestDatabase } from './sqlite-open.js'

/** The failures of SQLite over each driver, in one file. */
export const SQLITE_FAILURES: readonly FailureKind[] = DRIVERS.map(({ name, isHere }) => ({
  name: `sqliteFailures on ${name}`,
  describe: describe.skipIf(!isHere),
  async open() {
    const folder = await makeFolder()
    const opened: TestDatabase[] = []
    const create = async (): Promise<SqliteFailures> => {
      const db = openDatabase(name, join(folder, 'failures.db'))
      opened.push(db)
      const failures = sqliteFailures(db)
      await failures.migrate()
      return failures
    }
    const first = await create()
    return {
      create,
      createSecond: create,
      purge: (options) => first.purge(options),
      async close() {
        for (const db of opened) db.close()
        await removeFolder(folder)
      },
    }
  },
}))
