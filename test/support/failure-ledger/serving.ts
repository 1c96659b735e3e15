import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import {
  Discard,
  type HandlerContext,
  isWebhookError,
  type OrderCreatedEvent,
  RetryLater,
  type WebhookOptions,
} from 'tix-webhooks'
import { tixWebhooks } from 'tix-webhooks/node'
import { type AppSettings, NOT_KEPT_HEADER } from '../apps/protocol.js'
import { SECRET } from '../deliveries.js'
import { never } from '../promises.js'
import { DEEDS, type Deed, NAMESPACE, type OrderPlan } from './plans.js'

/** The time limit of an answer: one that is sooner says what has been done. */
export const TIMEOUT_SECONDS = 1
const SLOW_MS = TIMEOUT_SECONDS * 1000 + 100

export interface FailingSettings extends AppSettings {
  readonly guard: 'inbox' | 'store'
  /** Of what the handlers need beside their transactions: it has no faults. */
  readonly asideUrl: string
  readonly leaseSeconds: number
}

/** The settings that the app was started with. */
export function failingSettings(): FailingSettings {
  return JSON.parse(String(process.argv[2]))
}

export interface FailingApp<Tx> {
  readonly protection: Pick<WebhookOptions<IncomingMessage, Tx>, 'store' | 'inbox' | 'failures'>
  /** Writes the effect of an order, then calls `end`, which may throw. */
  effect(order: string, tx: Tx, end: () => void): Promise<unknown>
  /** Counts the runs of an order, this one included, whatever becomes of its transaction. */
  countRun(order: string): Promise<number>
  isFixed(): Promise<boolean>
  /** Faults that come from the inside, by the path of their route. */
  readonly faults: Readonly<Record<string, () => Promise<unknown>>>
}

/** Serves webhooks whose handler does what each order says, and routes for replays, faults and the end. */
export function serveFailing<Tx>(app: FailingApp<Tx>): void {
  const responses = new WeakMap<IncomingMessage, ServerResponse>()
  const planOf = (data: unknown) => (data as { order: { id: string; plan: OrderPlan } }).order

  async function isBroken(plan: OrderPlan, by: OrderPlan): Promise<boolean> {
    return plan === by && !(await app.isFixed())
  }

  async function handle(
    event: OrderCreatedEvent,
    { tx }: HandlerContext<IncomingMessage, Tx>,
  ): Promise<void> {
    const { id, plan } = planOf(event.data)
    const deeds: readonly Deed[] = DEEDS[plan]
    const run = await app.countRun(id)
    const deed = deeds[Math.min(run, deeds.length) - 1] as Deed
    const fails = deed.endsWith('throw') || (await isBroken(plan, 'fails until the fix'))
    if (deed === 'hang') await never()
    if (deed.startsWith('slow')) await pause(SLOW_MS)
    await app.effect(id, tx, () => {
      if (fails) throw new Error('It was told to fail')
      if (deed === 'discard') throw new Discard('It was told to')
      if (deed === 'retry later') throw new RetryLater({ afterSeconds: 1 })
    })
  }

  const options: WebhookOptions<IncomingMessage, Tx> = {
    ...app.protection,
    secret: SECRET,
    namespace: NAMESPACE,
    timeoutSeconds: TIMEOUT_SECONDS,
    maxRunSeconds: 1.5 * TIMEOUT_SECONDS,
    leaseSeconds: failingSettings().leaseSeconds,
    parkAfter: { attempts: 3 },
    on: { 'order.created': handle },
    onError(error, { request }) {
      if (!isWebhookError(error) || error.code !== 'not_kept') return
      const response = responses.get(request)
      if (response?.headersSent === false) response.setHeader(NOT_KEPT_HEADER, 'yes')
    },
  }
  const schema = {
    '~standard': {
      version: 1 as const,
      vendor: 'test',
      validate: async (value: unknown) =>
        (await isBroken(planOf(value).plan, 'is refused until the fix'))
          ? { issues: [{ message: 'It was told to refuse', path: ['order'] }] }
          : { value },
    },
  }
  const hooks = tixWebhooks<Tx>(Object.assign(options, { schemas: { 'order.created': schema } }))

  async function replay(what: { key?: string; filter?: object }): Promise<unknown> {
    if (what.key === undefined) return hooks.replay(what.filter ?? {})
    const { key } = what
    const replayed = await hooks.replay(key)
    return replayed === undefined ? [] : [{ key, ...replayed }]
  }
  const routes: Readonly<Record<string, (body: object) => Promise<unknown>>> = {
    ...app.faults,
    '/replay': replay,
    '/drain': () => hooks.drain(),
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const route = routes[request.url ?? '']
    if (route === undefined) {
      responses.set(request, response)
      return hooks(request, response)
    }
    // A replay rejects if its database cannot be reached.
    const result = await route(JSON.parse(await text(request))).catch(() => [])
    response.end(JSON.stringify(result ?? []))
  }

  const server = createServer((request, response) => void answer(request, response))
  server.keepAliveTimeout = 60_000
  server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }))
  // The test is gone.
  process.once('disconnect', () => process.exit(1))
}
