import { createHmac, timingSafeEqual } from 'node:crypto'
import type { TestDelivery } from 'tix-webhooks/testing'
import { SECRET } from './deliveries.js'
import type { Target } from './played-scenarios.js'

export interface OwnEvent {
  readonly type: string
  readonly created_at: string
  readonly data: { readonly order: { readonly id: string }; readonly event?: { readonly title: string } }
}

interface SignatureParts {
  readonly t: string
  readonly signatures: readonly string[]
}

type Handlers = Record<string, (event: OwnEvent) => Promise<void>>
type Memory = Map<string, 'running' | 'done'>

/** The steps of a hand-written receiver. Each can be done wrong. */
export interface Steps {
  read(body: ReadableStream<Uint8Array>): Promise<Buffer | number>
  /** Before anything is verified: a status ends the request here, and so does one of `read`. */
  first(body: Buffer, memory: Memory): number | undefined
  /** Undefined: malformed. */
  readHeader(header: string | undefined): SignatureParts | undefined | 'unsigned is fine'
  signedContent(t: string, body: Buffer): string | Buffer
  isSame(given: string, expected: string): unknown
  isFresh(t: string): boolean
  readJson(body: Buffer): unknown
  isEvent(value: unknown): boolean
  findHandler(handlers: Handlers, type: string): ((event: OwnEvent) => Promise<void>) | undefined
  keyOf(event: OwnEvent, header: string | undefined): string
  /** Runs it once. */
  once(key: string, memory: Memory, run: () => Promise<void>): Promise<number>
  handle(event: OwnEvent): unknown
  readonly onBadPayload: number
  readonly onUnknownKind: number
}

export const nowSeconds = (): number => Math.floor(Date.now() / 1000)

/** Each step done correctly. */
export const HONEST: Steps = {
  read: async (body) => Buffer.from(await new Response(body).arrayBuffer()),
  first: () => undefined,
  readHeader(header = '') {
    const items = header.split(',').map((item) => item.trim().split('='))
    const of = (wanted: string) => items.filter(([name]) => name === wanted).map(([, value = '']) => value)
    const [t = '', ...more] = of('t')
    const signatures = of('v1')
    return /^\d+$/.test(t) && more.length === 0 && signatures.length > 0 ? { t, signatures } : undefined
  },
  signedContent: (t, body) => Buffer.concat([Buffer.from(`${t}.`), body]),
  isSame: (given, expected) =>
    given.length === expected.length && timingSafeEqual(Buffer.from(given), Buffer.from(expected)),
  isFresh: (t) => Math.abs(nowSeconds() - Number(t)) <= 300,
  readJson: (body) => JSON.parse(body.toString()),
  isEvent(value) {
    const { type, created_at, data } = (value ?? {}) as Partial<OwnEvent>
    const isText = (text: unknown) => typeof text === 'string' && text !== ''
    return isText(type) && isText(created_at) && typeof data === 'object' && !Array.isArray(data)
  },
  findHandler: (handlers, type) => (Object.hasOwn(handlers, type) ? handlers[type] : undefined),
  keyOf: ({ data, created_at }) =>
    data.order?.id ?? JSON.stringify([created_at, (data.event as { id?: string } | undefined)?.id]),
  async once(key, memory, run) {
    const state = memory.get(key)
    if (state !== undefined) return state === 'done' ? 200 : 503
    memory.set(key, 'running')
    await run()
    memory.set(key, 'done')
    return 200
  },
  handle: () => {},
  onBadPayload: 500,
  onUnknownKind: 200,
}

export interface OwnReceiver extends Target {
  send(delivery: Pick<TestDelivery, 'headers' | 'toRequest'>): Promise<{ status: number }>
}

/** A receiver for `order.created` and `event.published`, written by hand, with these steps replaced; errors that it throws become a 500. */
export function ownReceiver(overrides: Partial<Steps> = {}): OwnReceiver {
  const steps = { ...HONEST, ...overrides }
  const memory: Memory = new Map()
  let runs = 0
  const handle = async (event: OwnEvent): Promise<void> => {
    runs += 1
    await new Promise(setImmediate)
    steps.handle(event)
  }
  const handlers: Handlers = { 'order.created': handle, 'event.published': handle }

  async function receive(header: string | undefined, body: Buffer): Promise<number> {
    const ended = steps.first(body, memory)
    if (ended !== undefined) return ended
    const parts = steps.readHeader(header)
    if (parts === undefined) return 400
    if (parts !== 'unsigned is fine') {
      const { t, signatures } = parts
      const expected = createHmac('sha256', SECRET).update(steps.signedContent(t, body)).digest('hex')
      if (!signatures.some((given) => steps.isSame(given, expected))) return 401
      if (!steps.isFresh(t)) return 401
    }

    let event: OwnEvent
    try {
      event = steps.readJson(body) as OwnEvent
    } catch {
      return steps.onBadPayload
    }
    if (!steps.isEvent(event)) return steps.onBadPayload
    const handler = steps.findHandler(handlers, event.type)
    if (handler === undefined) return steps.onUnknownKind
    return steps.once(steps.keyOf(event, header), memory, () => handler(event))
  }

  return {
    async send({ headers, toRequest }) {
      const { body } = toRequest('/hooks')
      const read = body === null ? Buffer.of() : await steps.read(body)
      if (typeof read === 'number') return { status: read }
      const status = await receive(headers['x-service-signature'], read).catch(() => 500)
      return { status }
    },
    runs: () => runs,
  }
}
