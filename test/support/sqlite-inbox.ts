import {
  answerTo,
  createReceiver,
  type Delivery,
  type HandlerContext,
  type OrderCreatedEvent,
} from 'tix-webhooks'
import { type SqliteTransaction, sqliteInbox } from 'tix-webhooks/sqlite'
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
  readonly parkAfter?: { readonly attempts: number }
  /** Passed to the receiver and its inbox instead of `db`. */
  readonly through?: TestDatabase
}

/** A receiver with an inbox, and a table of effects. */
export async function inboxOn(db: TestDatabase, handler: Handler, options: InboxOptions = {}) {
  const { through = db, ...overrides } = options
  const inbox = sqliteInbox(through, { purgeEverySeconds: false })
  await inbox.migrate()
  db.exec('CREATE TABLE IF NOT EXISTS effects (id TEXT NOT NULL)')
  const reports: string[] = []
  const receiver = createReceiver({
    secret: SECRET,
    inbox,
    namespace: 'inbox',
    on: { 'order.created': (event, ctx) => handler(event, ctx.tx, ctx) },
    onError: (error) => reports.push(String(error)),
    ...overrides,
  })
  return {
    inbox,
    receiver,
    reports,
    /** Delivers an event with a real signature, and returns the status and the outcome. */
    async send(payload: object, delivery: Partial<Delivery> = {}): Promise<string> {
      const outcome = await receiver.receive({ ...(await sign(payload)), request: null, ...delivery })
      return `${answerTo(outcome).status} ${outcome.outcome}`
    },
    effects: () => valuesOf(db, 'SELECT id FROM effects ORDER BY id'),
    records: () => handledIn(db),
  }
}

/** The keys of the events that are handled or discarded. */
export function handledIn(db: TestDatabase): unknown[] {
  return valuesOf(
    db,
    'SELECT event_key FROM tix_webhooks_events WHERE handled_at IS NOT NULL ORDER BY event_key',
  )
}

/** The usual effect of these tests' handlers: one row with the id of the order. */
export function insert(event: OrderCreatedEvent): (db: TestDatabase) => void {
  return (db) => void db.prepare('INSERT INTO effects (id) VALUES (?)').run(event.data.order.id)
}
