import {
  answerTo,
  createReceiver,
  type Delivery,
  type HandlerContext,
  type OrderCreatedEvent,
} from 'tix-webhooks'
import { type SqliteTransaction, sqliteFailures, sqliteInbox } from 'tix-webhooks/sqlite'
import { SECRET, sign } from './deliveries.js'
import { type TestDatabase, valuesOf } from './sqlite-open.js'

export type Tx = SqliteTransaction<TestDatabase>
export type Handler = (
  event: OrderCreatedEvent,
  tx: Tx,
  ctx: HandlerContext<unknown, SqliteTransaction<TestDatabase>>,
) => unknown

export interface InboxOptions {
  readonly timeoutSeconds?: number
  readonly maxRunSeconds?: number
  readonly key?: () => string | null
  /** Keeps failures in the same database. */
  readonly keepsFailures?: boolean
  readonly parkAfter?: { readonly attempts: number }
  /** Passed to the receiver and its inbox instead of `db`. */
  readonly through?: TestDatabase
}

/** A receiver with an inbox, and a table of effects. */
export async function inboxOn(db: TestDatabase, handler: Handler, options: InboxOptions = {}) {
  const { through = db, keepsFailures = false, ...overrides } = options
  const [inbox, failures] = [sqliteInbox(through), sqliteFailures(through)]
  await inbox.migrate()
  if (keepsFailures) await failures.migrate()
  db.exec('CREATE TABLE IF NOT EXISTS effects (id TEXT NOT NULL)')
  const reports: string[] = []
  const receiver = createReceiver({
    secret: SECRET,
    inbox,
    ...(keepsFailures ? { failures } : {}),
    namespace: 'inbox',
    on: { 'order.created': (event, ctx) => handler(event, ctx.tx, ctx) },
    onError: (error) => reports.push(String(error)),
    ...overrides,
  })
  return {
    inbox,
    failures,
    receiver,
    reports,
    /** Delivers an event with a real signature, and returns the status and the outcome. */
    async send(payload: object, delivery: Partial<Delivery> = {}): Promise<string> {
      const outcome = await receiver.receive({ ...(await sign(payload)), request: null, ...delivery })
      return `${answerTo(outcome).status} ${outcome.outcome}`
    },
    effects: () => valuesOf(db, 'SELECT id FROM effects ORDER BY id'),
    records: () => valuesOf(db, 'SELECT key FROM tix_webhooks_inbox ORDER BY key'),
  }
}

/** The usual effect of these tests' handlers: one row with the id of the order. */
export function insert(event: OrderCreatedEvent): (db: TestDatabase) => void {
  return (db) => void db.prepare('INSERT INTO effects (id) VALUES (?)').run(event.data.order.id)
}
