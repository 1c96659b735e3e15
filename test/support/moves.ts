import { snippetsOf } from './compile.js'
import { readPage } from './pages.js'

/** A move, whose new version is a snippet of the page. */
export interface Move {
  readonly from: 'byHand' | 'memory' | 'redis' | 'postgres' | 'inbox' | 'sqlite'
  /** A text that only its snippet contains. */
  readonly to: string
  /** The changes to the snippet, for another move by the same lines. */
  readonly changes?: Readonly<Record<string, string>>
}

const ASKING_FOR_EFFECTS = 'SELECT FROM tickets'
const ASKING_FOR_RECORDS = 'handledBefore: (event, { keyIn }) => oldStore'
const CLAIMING = "token: 'moving'"
const INSERTING = 'INSERT INTO processed_events'

const IN_ITS_TABLE = {
  'SELECT FROM tickets WHERE order_id = $1': 'SELECT FROM processed_events WHERE id = $1',
}
const FROM_POSTGRES = {
  'redisStore(redis)': 'postgresStore(pool)',
  '{ postgresInbox }': '{ postgresInbox, postgresStore }',
}
const FROM_INBOX = {
  'redisStore(redis)': 'postgresInbox(pool)',
  '{ postgresStore }': '{ postgresInbox, postgresStore }',
}
const FROM_SQLITE = {
  'redisStore(redis)': 'sqliteStore(new Database(process.env.DATABASE_FILE!))',
  "{ redisStore } from 'tix-webhooks/redis'":
    "{ sqliteStore } from 'tix-webhooks/sqlite'; import Database from 'libsql'",
}
/** After the row. */
const IN_INBOX = {
  'store.isHandled': 'inbox.isHandled',
  'const store = postgresStore': 'const inbox = postgresInbox',
  'store.migrate': 'inbox.migrate',
  '  store,': '  inbox,',
  '{ postgresStore }': '{ postgresInbox }',
  handleOrder:
    "async ({ data }, ctx) => void (await ctx.tx.query('INSERT INTO tickets (order_id) VALUES ($1)', [data.order.id]))",
}
const NEW_NAMESPACE = { "namespace: 'orders'": "namespace: 'sales'" }
const OF_ACME = {
  'secret: process.env.TIX_SIGNING_SECRET,':
    "account: () => ({ id: 'acme', secret: process.env.TIX_SIGNING_SECRET! }),",
}
const NEW_KEY = {
  'export const POST': `
    const oldKey = (event: any) => event.data.order.id
    export const POST`,
  "namespace: 'orders',": "namespace: 'orders', key: (event: any) => event.data.order.id + '-eur',",
}

const OF_NO_ACCOUNT = { "keyIn('orders')": "keyIn('orders', null)" }

/** The line of the snippet, and what a row of the table says instead. */
const ASKING = "(event, { keyIn }) => oldStore.isHandled(keyIn('orders'))"
const TABLE = readPage('docs/moving.md').split('| from | to |')[1] ?? ''
function asRow(from: string): Readonly<Record<string, string>> {
  const row = TABLE.split('\n').find((line) => line.startsWith(`| ${from}`)) ?? ''
  const [, code = ''] = /\| `+([^|]+?)`+ \|$/.exec(row) ?? []
  return { [ASKING]: code }
}

/** The old version is drained before the new one gets its first delivery. */
export const WITH_A_PAUSE: Readonly<Record<string, Move>> = {
  'from a receiver by hand': { from: 'byHand', to: ASKING_FOR_EFFECTS },
  'from a receiver by hand, by its table': { from: 'byHand', to: ASKING_FOR_EFFECTS, changes: IN_ITS_TABLE },
  'from memory': { from: 'memory', to: ASKING_FOR_EFFECTS },
  'from Redis to Postgres': { from: 'redis', to: ASKING_FOR_RECORDS },
  'from SQLite to Postgres': { from: 'sqlite', to: ASKING_FOR_RECORDS, changes: FROM_SQLITE },
  'from an inbox to a store': { from: 'inbox', to: ASKING_FOR_RECORDS, changes: FROM_INBOX },
  'to another namespace': {
    from: 'postgres',
    to: ASKING_FOR_RECORDS,
    changes: { ...asRow('the namespace'), ...NEW_NAMESPACE },
  },
  'to another namespace of an inbox': {
    from: 'inbox',
    to: ASKING_FOR_RECORDS,
    changes: { ...asRow('the namespace'), ...NEW_NAMESPACE, ...IN_INBOX },
  },
  'to accounts': {
    from: 'postgres',
    to: ASKING_FOR_RECORDS,
    changes: { ...asRow('one namespace'), ...OF_ACME },
  },
  'to another key': {
    from: 'postgres',
    to: ASKING_FOR_RECORDS,
    changes: { ...asRow('the `key` function'), ...NEW_KEY },
  },
}

/** Both versions serve at the same time. */
export const ROLLING: Readonly<Record<string, Move>> = {
  'from a receiver by hand': { from: 'byHand', to: INSERTING },
  'from Redis to an inbox': { from: 'redis', to: CLAIMING },
  'to another namespace': { from: 'postgres', to: CLAIMING, changes: { ...FROM_POSTGRES, ...NEW_NAMESPACE } },
  'to accounts': {
    from: 'postgres',
    to: CLAIMING,
    changes: { ...FROM_POSTGRES, ...OF_ACME, ...OF_NO_ACCOUNT },
  },
}

/** A move that the page warns of. */
export const CARELESS: Move = { from: 'redis', to: ASKING_FOR_RECORDS }

export const MOVES: readonly Move[] = [...Object.values(WITH_A_PAUSE), ...Object.values(ROLLING), CARELESS]
export const pathOf = (move: Move): string => `move-${MOVES.indexOf(move)}`

/** The page has the shortest one, and links the others. */
const FILES = ['from-effects', 'without-a-pause', 'from-a-table'].map((name) => `examples/moving/${name}.ts`)
const SNIPPETS = [...snippetsOf('docs/moving.md', 'ts'), ...FILES.map(readPage)]

/** The new version of a move. */
export function newVersion({ to, changes = {} }: Move): string {
  const [code, ...more] = SNIPPETS.filter((one) => one.includes(to))
  if (code === undefined || more.length > 0) throw new Error(`Not one snippet contains ${to}`)
  return Object.entries(changes).reduce((text, [from, by]) => {
    if (!text.includes(from)) throw new Error(`The snippet with ${to} does not contain ${from}`)
    return text.replaceAll(from, by)
  }, code)
}
