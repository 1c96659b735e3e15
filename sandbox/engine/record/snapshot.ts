import * as z from 'zod'
import type { Endpoint } from '../endpoint.js'
import { isPlainUrl, PLAIN_URL } from '../network/plain-url.js'
import type { Tracked } from './delivery-log.js'
import type { Forgotten } from './forgotten.js'
import type { Delivery, Message } from './records.js'
import { DELIVERY_STATUSES, isSettled } from './records.js'

const text = z.string()
const ms = z.number()
const headers = z.record(text, text)
const id = (prefix: string) => text.regex(new RegExp(`^${prefix}_[0-9A-Za-z]+$`))
const state = z
  .array(z.int())
  .length(4)
  .refine((words) => words.some((word) => word !== 0), 'zeros alone are no state of a generator')

const endpoint = z.strictObject({
  id: id('we'),
  url: z.url().refine(isPlainUrl, PLAIN_URL),
  events: z.array(text).min(1),
  secrets: z.array(text.min(1)).min(1),
  enabled: z.boolean(),
  mode: text,
})

const message = z.strictObject({
  id: id('msg'),
  mode: text,
  type: text,
  createdAt: z.iso.datetime(),
  body: text,
})

const attempt = z.strictObject({
  id: id('att'),
  number: z.int().min(1),
  trigger: z.enum(['auto', 'manual', 'scenario']),
  scenario: text.exactOptional(),
  virtualMs: ms,
  realMs: ms,
  url: text,
  requestHeaders: headers,
  sentBody: text.exactOptional(),
  inexact: z.literal(true).exactOptional(),
  response: z.strictObject({ status: z.int(), headers, body: text, truncated: z.boolean() }).exactOptional(),
  error: z.strictObject({ code: text, message: text }).exactOptional(),
  durationMs: ms,
  hint: text.exactOptional(),
})

const delivery = z.strictObject({
  id: id('dlv'),
  messageId: id('msg'),
  endpointId: z.union([id('we'), z.literal('')]),
  scenario: text.exactOptional(),
  status: z.enum(DELIVERY_STATUSES),
  reason: text.exactOptional(),
  firstAtMs: ms,
  nextAtMs: ms.exactOptional(),
  attempts: z.array(attempt),
  seed: z.int(),
  begun: z.int().min(0),
})

const count = z.int().min(0)
const forgotten = z.strictObject({
  delivered: count,
  failed: count,
  skipped: count,
  passed: count,
  wrong_answer: count,
  parked: count,
})

const snapshot = z.strictObject({
  latestMessageMs: ms.nullable(),
  random: z.strictObject({ endpoints: state, ids: state, attempts: state }),
  endpoints: z.array(endpoint),
  messages: z.array(message),
  /** The oldest first. */
  deliveries: z.array(delivery),
  /** The deliveries that have ended, in the order of their ends. */
  settled: z.array(id('dlv')),
  forgotten,
})

/** The state of an engine, as plain JSON. */
export type EngineSnapshot = z.infer<typeof snapshot>

/** The same state, in the types of the engine. */
export interface EngineState {
  readonly latestMessageMs: number | null
  /** The state of each generator, by its purpose. */
  readonly random: Readonly<Record<keyof EngineSnapshot['random'], readonly number[]>>
  readonly endpoints: readonly Endpoint[]
  /** The oldest first. */
  readonly deliveries: readonly Omit<Tracked, 'timer'>[]
  readonly settled: readonly string[]
  readonly forgotten: Forgotten
}

/** Attempts in flight are saved as waiting, so that they are made again; those of scenarios are left out. */
export function toSnapshot({ deliveries, ...state }: EngineState): EngineSnapshot {
  const saved = deliveries.filter(({ delivery }) => isSettled(delivery) || delivery.nextAtMs !== undefined)
  const messages = new Map(saved.map(({ delivery }) => [delivery.message.id, delivery.message]))
  // The records are immutable, so they are not copied.
  return {
    ...state,
    messages: [...messages.values()],
    deliveries: saved.map(({ delivery: { message, ...rest }, seed, begun }) => {
      return { ...rest, messageId: message.id, seed, begun }
    }),
  } as EngineSnapshot
}

/** @throws TypeError that says what is wrong, and where */
export function fromSnapshot(value: unknown): EngineState {
  const read = snapshot.safeParse(value)
  if (!read.success) {
    const [issue] = read.error.issues
    throw new TypeError(
      `The saved deliveries cannot be read: ${issue?.path.join('.') || 'they'}: ${issue?.message}.`,
    )
  }
  const { messages, deliveries, ...state } = read.data
  const byId = new Map<string, Message>(messages.map((message) => [message.id, message]))
  const tracked = deliveries.map(({ messageId, seed, begun, ...rest }) => {
    const message = byId.get(messageId)
    if (message === undefined) throw inconsistent(`delivery ${rest.id} is of a message that is not there`)
    const delivery: Delivery = { ...rest, message }
    if (isSettled(delivery) === (delivery.nextAtMs !== undefined)) {
      throw inconsistent(`delivery ${delivery.id} is ${delivery.status}, which does not go with its nextAtMs`)
    }
    return { delivery, seed, begun }
  })
  const ended = tracked.filter(({ delivery }) => isSettled(delivery)).map(({ delivery }) => delivery.id)
  if (!isSameSet(ended, state.settled))
    throw inconsistent('settled does not list exactly the deliveries that have ended')
  if (new Set(tracked.map(({ delivery }) => delivery.id)).size < tracked.length) {
    throw inconsistent('a delivery is there twice')
  }
  return { ...state, deliveries: tracked }
}

function isSameSet(some: readonly string[], others: readonly string[]): boolean {
  const set = new Set(some)
  return (
    some.length === others.length &&
    new Set(others).size === others.length &&
    others.every((one) => set.has(one))
  )
}

function inconsistent(what: string): TypeError {
  return new TypeError(`The saved deliveries cannot be read: ${what}.`)
}
