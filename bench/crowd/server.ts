import { createServer, type IncomingMessage } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { Pool } from 'pg'
import { tixWebhooks } from 'tix-webhooks/node'
import { postgresInbox } from 'tix-webhooks/postgres'
import { listen } from '../http/apps/listen.js'
import { SECRET } from '../http/contestants.js'
import { answerQuestions } from '../support/child.js'

/** An app with an inbox on its only pool. */
export interface CrowdServer {
  readonly url: string
  /** Of the pool. */
  readonly connections: number
  /** Default: that of the receiver. */
  readonly concurrency?: number | undefined
  /** Whether `handledBefore` asks the pool, and not the transaction: for a second connection beside that of the run. */
  readonly asksPool?: boolean
  /** All times are divided by it. */
  readonly scale: number
}

const HANDLER_MS = 400
/** As in the README. */
const CONNECTION_TIMEOUT_MS = 2_000
const TIMEOUT_SECONDS = 10

const { url, connections, concurrency, asksPool, scale } = JSON.parse(process.argv[2] ?? '') as CrowdServer
const pool = new Pool({
  connectionString: url,
  max: connections,
  connectionTimeoutMillis: CONNECTION_TIMEOUT_MS / scale,
})
const INSERT = 'INSERT INTO effects (key) VALUES ($1)'
const hooks = tixWebhooks({
  inbox: postgresInbox(pool),
  namespace: 'bench',
  ...(concurrency === undefined ? {} : { concurrency }),
  ...(asksPool === true ? { handledBefore: () => pool.query('SELECT 1').then(() => false) } : {}),
  account: (request) => ({ id: accountOf(request), secret: SECRET }),
  timeoutSeconds: TIMEOUT_SECONDS / scale,
  on: {
    'order.created': async ({ data: { order } }, { tx }) => {
      await tx.query(INSERT, [order.id])
      await sleep(HANDLER_MS / scale)
      await tx.query(INSERT, [order.id])
    },
  },
  onError: () => {},
})

const server = createServer(async (request, response) => {
  if (request.method === 'POST') return hooks(request, response)
  const isGood = request.url === '/health' ? (await hooks.health()).ok : await canQuery()
  response.writeHead(isGood ? 200 : 503, { 'content-length': 0 }).end()
})
// The sender keeps its connections until it delivers again.
server.keepAliveTimeout = 300_000
const opened = listen(server)

function canQuery(): Promise<boolean> {
  return pool.query('SELECT 1').then(
    () => true,
    () => false,
  )
}

function accountOf({ url = '' }: IncomingMessage): string {
  return url.slice('/hooks/'.length)
}

answerQuestions(() => opened)
