import { snippetsOf } from './compile.js'
import { readPage } from './pages.js'

/** A move, whose new version is a snippet of the page. */
export interface Move {
  readonly from: 'byHand' | 'redis' | 'postgres'
  /** A text that only its snippet contains. */
  readonly to: string
  /** The changes to the snippet, for another move by the same lines. */
  readonly changes?: Readonly<Record<string, string>>
}

const ASKING_FOR_EFFECTS = 'SELECT FROM tickets'
const ASKING_FOR_RECORDS = 'handledBefore: (event, { keyIn }) => oldStore'
const CLAIMING = "token: 'moving'"
const INSERTING = 'INSERT INTO processed_events'

const FROM_POSTGRES = {
  'redisStore(redis)': 'postgresStore(pool)',
  '{ postgresInbox }': '{ postgresInbox, postgresStore }',
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
  'from Redis to Postgres': { from: 'redis', to: ASKING_FOR_RECORDS },
  'to another namespace': {
    from: 'postgres',
    to: ASKING_FOR_RECORDS,
    changes: { ...asRow('the namespace'), ...NEW_NAMESPACE },
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

export const MOVES: readonly Move[] = [...Object.values(WITH_A_PAUSE), ...Object.values(ROLLING)]

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
