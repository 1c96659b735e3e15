import {
  Discard,
  type HandlerContext,
  type OrderCreatedEvent,
  RetryLater,
  type WebhookOptions,
} from 'tix-webhooks'
import type { Backend, Backends } from './backends.js'
import { LIMIT_BYTES, SECRET, SECRETS } from './contract.js'
import type { LaneInbox, LaneTx } from './lane-inbox.js'
import { type Run, state } from './state.js'

/** The options of every endpoint, by its name: `/hooks/<name>`. No API of any runtime is used. */
export type Endpoints = ReturnType<typeof endpointsWith>

/** The endpoints of a server. */
export function endpointsWith(laneInbox: LaneInbox, backends: Backends = {}) {
  return {
    ...ofBackends(backends),
    main: options('main', { maxBodyBytes: LIMIT_BYTES }),
    hasty: options('hasty', { timeoutSeconds: 1 }),
    vanishing: options('vanishing'),
    'given-up': options('given-up', { timeoutSeconds: 1, maxRunSeconds: 1.5 }),
    rotated: options('rotated', { secret: SECRETS }),
    'secret-function': options('secret-function', { secret: async () => SECRET }),
    'without-secret': options('without-secret', { secret: () => undefined }),
    drained: options('drained'),
    loaded: options('loaded'),
    inbox: {
      ...base<LaneTx>('inbox'),
      namespace: 'inbox',
      inbox: laneInbox.inbox,
      on: {
        'order.created': async (event, ctx) => {
          ctx.tx.write(event.data.order.id)
          await handle('inbox', event, ctx)
        },
      },
    } satisfies WebhookOptions<never, LaneTx>,
  }
}

function ofBackends(backends: Backends): Record<string, WebhookOptions<never, never>> {
  const made = Object.entries(backends).flatMap(([name, backend]) =>
    backend.options === undefined ? [] : [[name, ofBackend(name, backend)] as const],
  )
  return Object.fromEntries(made)
}

function ofBackend(name: string, { options, write }: Backend): WebhookOptions<never, never> {
  const on = {
    'order.created': async (event: OrderCreatedEvent, ctx: HandlerContext<never, never>) => {
      await write?.(ctx.tx, event.data.order.id)
      await handle(name, event, ctx)
    },
  }
  return { ...base(name), namespace: name, on, ...options } as never
}

function options(endpoint: string, extra: Partial<WebhookOptions<unknown>> = {}): WebhookOptions<unknown> {
  const on = {
    'order.created': (event: OrderCreatedEvent, ctx: HandlerContext) => handle(endpoint, event, ctx),
  }
  return { ...base(endpoint), on, ...extra }
}

function base<Tx = undefined>(endpoint: string) {
  return {
    secret: SECRET,
    onDelivery: ({ outcome, status, code, key }) => {
      state.records.push({ endpoint, outcome, status, code, key })
    },
    onError: (error) => {
      state.reports.push(`${endpoint}: ${error instanceof Error ? error.message : error}`)
    },
  } satisfies Partial<WebhookOptions<unknown, Tx>>
}

/** Does what the order's id asks for, as in `wait-1500:…`. */
async function handle(endpoint: string, event: OrderCreatedEvent, ctx: HandlerContext<unknown, unknown>) {
  const { id } = event.data.order
  const [action, ms] = (id.split(':')[0] ?? '').split('-')
  const isFirst = !state.runs.some((one) => one.id === id)
  const run: Run = {
    endpoint,
    id,
    attempt: ctx.attempt,
    secretIndex: ctx.secretIndex,
    aborted: false,
    ended: false,
  }
  state.runs.push(run)
  if (action === 'wait') await new Promise((resolve) => setTimeout(resolve, Number(ms)))
  if (action === 'abort') await aborted(ctx.signal)
  run.aborted = action === 'abort'
  run.ended = true
  if (action === 'discard') throw new Discard('not wanted')
  if (action === 'later') throw new RetryLater({ afterSeconds: Number(ms), reason: 'closed' })
  if (action === 'fail' && isFirst) throw new Error('private: the handler failed')
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
}
