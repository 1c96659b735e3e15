import type { Message } from '../../../engine/record/records.js'

const MAX_LENGTH = 120

const known = new WeakMap<Message, string>()

/**
 * The content of a message in a few words, for a list: `2 tickets · 54.00 · buyer8@example.com`, `Harbour Jazz · rescheduled`. Empty if
 * it is of neither an order nor an event. A message is immutable, so it is read once.
 */
export function subjectOf(message: Message): string {
  const subject = known.get(message) ?? read(message)
  known.set(message, subject)
  return subject
}

function read({ type, body }: Message): string {
  const { order, tickets, event } = dataOf(body)
  const change = /^event\.(.+)$/.exec(type)?.[1]
  const parts =
    isObject(order) && change === undefined
      ? [countOf(tickets), priceOf(order.total_cents), textOf(order.buyer_email) ?? textOf(order.id)]
      : isObject(event)
        ? [textOf(event.title) ?? textOf(event.id), textOf(change)]
        : []
  return parts.filter((part) => part !== undefined).join(' · ')
}

function dataOf(body: string): Readonly<Record<string, unknown>> {
  try {
    const { data } = JSON.parse(body)
    return isObject(data) ? data : {}
  } catch {
    return {}
  }
}

function countOf(tickets: unknown): string | undefined {
  if (!Array.isArray(tickets)) return undefined
  return tickets.length === 1 ? '1 ticket' : `${tickets.length.toLocaleString('en')} tickets`
}

/** The service names no currency. */
function priceOf(cents: unknown): string | undefined {
  return Number.isSafeInteger(cents) ? (Number(cents) / 100).toFixed(2) : undefined
}

/** Text in one line, as far as it fits. */
function textOf(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined
  const line = value
    .slice(0, 4 * MAX_LENGTH)
    .replaceAll(/\s+/g, ' ')
    .trim()
  if (line === '') return undefined
  const characters = [...line]
  return characters.length <= MAX_LENGTH ? line : `${characters.slice(0, MAX_LENGTH - 1).join('')}…`
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
