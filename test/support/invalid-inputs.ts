import { inspect } from 'node:util'
import type { HandledRecords, Inbox, Purgeable, RemoteStore } from 'tix-webhooks'

/** Values of a key, a token and a duration that the contracts of stores and inboxes do not allow. */
const KEYS: readonly unknown[] = [
  '',
  'k'.repeat(256),
  'a\0b',
  'a\r\n',
  'größe',
  7,
  undefined,
  Promise.resolve('k'),
]
const TOKENS: readonly unknown[] = ['', 't'.repeat(65), 'a\tb', undefined]
const DURATIONS: readonly unknown[] = [0, -1, Number.NaN, Number.POSITIVE_INFINITY, 1e20, '60000', undefined]
const LIMITS: readonly unknown[] = [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, '10', null]

const INVALID = { key: KEYS, token: TOKENS, leaseMs: DURATIONS, retainMs: DURATIONS } as const
type Field = keyof typeof INVALID

const VALID = { key: 'k', token: 't', leaseMs: 60_000, retainMs: 60_000 }

/** The methods of a store, each with the fields that it takes. */
const METHODS = (store: RemoteStore): readonly [readonly Field[], (given: typeof VALID) => unknown][] => [
  [['key', 'token', 'leaseMs', 'retainMs'], (given) => store.claim(given)],
  [['key', 'token', 'leaseMs'], (given) => store.renew(given, given.leaseMs)],
  [['key', 'token', 'retainMs'], (given) => store.complete(given, given.retainMs)],
  [['key', 'token'], (given) => store.release(given)],
]

/** Calls each method of a store with each invalid value: the calls that it did not reject with a TypeError that names the field. */
export async function notRefusedRequests(store: RemoteStore): Promise<string[]> {
  const found: string[] = []
  for (const [fields, call] of METHODS(store)) {
    for (const field of fields) {
      for (const value of INVALID[field]) {
        const end = await endOf(() => call({ ...VALID, [field]: value }))
        if (!isRefusal(end, `${field} must be `))
          found.push(`${call} with ${field} ${show(value)}: ${show(end)}`)
      }
    }
  }
  return found
}

/** The same for an inbox, which must not run its work either. */
export async function notRefusedOnces(inbox: Inbox<unknown>): Promise<string[]> {
  const found: string[] = []
  for (const field of ['key', 'retainMs'] as const) {
    for (const value of INVALID[field]) {
      const given = { key: null, retainMs: 1, [field]: value } as { key: string | null; retainMs: number }
      const end = await endOf(() =>
        inbox.once(given, async () => {
          found.push(`it ran with ${field} ${show(value)}`)
        }),
      )
      if (!isRefusal(end, `${field} must be `)) found.push(`once with ${field} ${show(value)}: ${show(end)}`)
    }
  }
  return found
}

/** The same for `isHandled`. */
export async function notRefusedKeys({ isHandled }: HandledRecords): Promise<string[]> {
  const found: string[] = []
  for (const key of [...KEYS, null]) {
    const end = await endOf(() => isHandled(key as string))
    if (!isRefusal(end, 'key must be ')) found.push(`${show(key)}: ${show(end)}`)
  }
  return found
}

/** The same for the limits of a purge. */
export async function notRefusedLimits({ purge }: Purgeable): Promise<string[]> {
  const found: string[] = []
  for (const limit of LIMITS) {
    const end = await endOf(() => purge({ limit: limit as number }))
    if (!isRefusal(end, 'limit must be a whole number of at least 1'))
      found.push(`${show(limit)}: ${show(end)}`)
  }
  return found
}

/** Makes something of each value: those that were not refused with a TypeError whose message matches. */
export function notRefusedInputs<T>(
  make: (value: T) => unknown,
  rows: readonly (readonly [value: unknown, message: RegExp | string])[],
): string[] {
  const found: string[] = []
  for (const [value, message] of rows) {
    let end: unknown = 'it was accepted'
    try {
      make(value as T)
    } catch (error) {
      end = error
    }
    if (!isRefusal(end, message)) found.push(`${show(value)}: ${show(end)}, not ${message}`)
  }
  return found
}

/** The error of a call that rejects; a call that throws has not rejected. */
async function endOf(call: () => unknown): Promise<unknown> {
  let result: unknown
  try {
    result = call()
  } catch (error) {
    return `it threw ${show(error)}`
  }
  return Promise.resolve(result).then(
    (value) => `it resolved to ${show(value)}`,
    (error) => error,
  )
}

function isRefusal(end: unknown, message: RegExp | string): boolean {
  if (!(end instanceof TypeError)) return false
  return typeof message === 'string' ? end.message.includes(message) : message.test(end.message)
}

function show(value: unknown): string {
  if (value instanceof Error) return `${value.name}: ${value.message}`
  return inspect(value, { depth: 0, maxStringLength: 40, breakLength: Number.POSITIVE_INFINITY })
}
