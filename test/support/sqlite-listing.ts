import { sqliteInbox } from 'tix-webhooks/sqlite'
import { listing, rankOf, type StoryEvent } from './listing-story.js'
import { type TestDatabase, valuesOf } from './sqlite-open.js'

/** A listing that shows what the newest webhook of each event says. */
export async function sqliteListing(
  db: TestDatabase,
  failsOn: (event: StoryEvent) => boolean = () => false,
): Promise<{ send(event: StoryEvent): Promise<string>; states(): unknown[] }> {
  const inbox = sqliteInbox(db)
  await inbox.migrate()
  db.exec('CREATE TABLE IF NOT EXISTS listing (id TEXT PRIMARY KEY, state TEXT)')
  const { send } = listing(inbox, async (tx, event) => {
    const subject = event.data.event.id
    const fails = failsOn(event)
    // Others run in between.
    await new Promise(setImmediate)
    tx.commit((handed) => {
      const isNewest = inbox.isNewest(handed, { subject, at: event.created_at, rank: rankOf(event.type) })
      if (isNewest) handed.prepare('INSERT OR REPLACE INTO listing VALUES (?, ?)').run(subject, event.type)
      if (fails) throw new Error('after it wrote')
    })
  })
  return { send, states: () => valuesOf(db, 'SELECT DISTINCT state FROM listing') }
}
