import { fork } from 'node:child_process'
import { once } from 'node:events'
import { afterEach } from 'vitest'
import {
  type AppMessage,
  type AppSettings,
  DELIVERY_HEADER,
  FAIL_HEADER,
  type Mark,
  NOT_KEPT_HEADER,
  STOP_HEADER,
} from './apps/protocol.js'
import { useBundle } from './bundle.js'
import { orderCreated, type SignedDelivery, sign } from './deliveries.js'

/** A signed event of the service. */
export interface Order extends SignedDelivery {
  readonly id: string
}

export async function newOrder(): Promise<Order> {
  const event = orderCreated()
  return { id: event.data.order.id, ...(await sign(event)) }
}

export function newOrders(count: number): Promise<Order[]> {
  return Promise.all(Array.from({ length: count }, newOrder))
}

interface Answer {
  readonly status: number
  readonly outcome: string
  readonly retryAfter?: number
  /** Present if the receiver reported that it could not keep the failure. */
  readonly notKept?: true
}

/** The end of a delivery: an answer; or it is stopped at its mark; or its app was killed. */
export type End = Answer | 'stopped' | 'cut off'

/** A separate process with an HTTP server. */
export interface App {
  deliver(order: SignedDelivery, what?: { readonly stopAt?: Mark; readonly fail?: boolean }): Promise<End>
  /** Kills it with SIGKILL, and waits until it is gone. */
  kill(): Promise<void>
}

/** Starts apps for the tests of a file, and stops all of them. */
export function useApps(): { start(settings: AppSettings): Promise<App> } {
  const bundled = useBundle('test/support/apps/serving.ts')
  const running = new Set<Promise<App>>()

  async function start(settings: AppSettings): Promise<App> {
    const starting = startApp(bundled(), settings)
    running.add(starting)
    return starting
  }

  afterEach(async () => {
    await Promise.all([...running].map((starting) => starting.then((app) => app.kill())))
    running.clear()
  })
  return { start }
}

async function startApp(file: string, settings: AppSettings): Promise<App> {
  const child = fork(file, [JSON.stringify(settings)], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const exited = once(child, 'exit')
  const stopped = new Map<string, () => void>()
  const port = await new Promise<number>((resolve, reject) => {
    child.on('message', (message: AppMessage) => {
      if ('port' in message) resolve(message.port)
      else stopped.get(message.stopped)?.()
    })
    child.once('exit', (code) => reject(new Error(`The app ended with ${code} before it listened`)))
  })
  let count = 0

  return {
    deliver(order, { stopAt, fail = false } = {}) {
      const id = String(count++)
      const headers = {
        [DELIVERY_HEADER]: id,
        ...(stopAt === undefined ? {} : { [STOP_HEADER]: stopAt }),
        ...(fail ? { [FAIL_HEADER]: 'yes' } : {}),
      }
      const reached = new Promise<'stopped'>((resolve) => stopped.set(id, () => resolve('stopped')))
      return Promise.race([reached, post(port, order, headers)]).finally(() => stopped.delete(id))
    },
    async kill() {
      child.kill('SIGKILL')
      await exited
    },
  }
}

async function post(
  port: number,
  { header, body }: SignedDelivery,
  more: Readonly<Record<string, string>>,
): Promise<Answer | 'cut off'> {
  const headers = { ...more, 'x-service-signature': header }
  const init = { method: 'POST', headers, body: new Uint8Array(body) }
  let response: Response
  let text: string
  try {
    response = await fetch(`http://127.0.0.1:${port}/hooks`, init)
    text = await response.text()
  } catch {
    return 'cut off'
  }
  const retryAfter = response.headers.get('retry-after')
  return {
    status: response.status,
    outcome: JSON.parse(text).outcome,
    ...(retryAfter !== null && { retryAfter: Number(retryAfter) }),
    ...(response.headers.has(NOT_KEPT_HEADER) && { notKept: true }),
  }
}
