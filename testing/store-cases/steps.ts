import type { FailedDelivery } from '../../src/index.js'
import { claimed, completed, type ExpectedAnswer, inFlight, MINUTE_MS } from './answers.js'
import type { Step } from './case-runner.js'
import type { StoreAction, StoreCall } from './model.js'

/** In minutes, so that the real time that a case takes does not matter. */
const LEASE = 30
const RETENTION = 1000
const SIGNED_MS = Date.UTC(2026, 10, 24, 9, 59, 59, 1)

/** The key of an event, and the tokens of those who hold it. */
export interface Subject {
  readonly key: string
  readonly tokens: Readonly<Record<string, string>>
}

/** @param ending the end of the key */
export function newSubject(ending = ''): Subject {
  const tokens = Object.fromEntries(['a', 'b', 'c', 'd'].map((name) => [name, newToken()]))
  return { key: newKey(ending), tokens }
}

/** A receiver's key begins with its namespace and a slash. */
export function newKey(ending = ''): string {
  return `${crypto.randomUUID()}/${ending}`
}

export function newToken(): string {
  return crypto.randomUUID()
}

/**
 * The steps of a text such as `a claim = 1, *b claim lease 5 = left 30, +35, b claim = 2`. Times are in minutes.
 *
 * `a` to `d` are tokens of the first subject, `A` to `D` of the second; `keep`, `discard` and `forget` have none, and are in capitals for the second. `*`
 * is a call by the second client. The answer to a claim is the attempt, `left` and the rest of the lease, `completed`, `waits` if the event is
 * parked, or `released`: in flight for a millisecond. A step without an answer is not judged.
 */
export function stepsOf(
  text: string,
  subjects: readonly Subject[] = [newSubject(), newSubject()],
  ordinal = 1,
): Step[] {
  return text.split(/,\s*/).map((step, index) => stepOf(step.trim(), subjects, ordinal + index))
}

function stepOf(text: string, [first, second]: readonly Subject[], ordinal: number): Step {
  const [call = '', answer] = text.split(' = ')
  const onSecond = call.startsWith('*') ? { isOnSecond: true } : {}
  if (call.startsWith('+')) return advance(Number(call.slice(1)))
  const words = call.replace('*', '').split(' ')
  if (words[0] === 'purge') return { ...onSecond, label: 'purge', action: { do: 'purge' } }
  const isOther = /^[A-Z]/.test(words[0] ?? '')
  const subject = (isOther ? second : first) as Subject
  const token = subject.tokens[(words[0] ?? '').toLowerCase()]
  if (token !== undefined) words.shift()
  const label = `${call.replace('*', '').toLowerCase()}${isOther ? ' of another key' : ''}`
  const action = { ...callOf(words, subject.key, token ?? '', ordinal), key: subject.key } as StoreAction
  return { ...onSecond, label, action, expected: answer === undefined ? undefined : answerOf(answer) }
}

function callOf([verb = '', ...words]: readonly string[], key: string, token: string, ordinal: number) {
  const given = (name: string): number | undefined => {
    const index = words.indexOf(name)
    return index < 0 ? undefined : Number(words[index + 1])
  }
  const leaseMs = (given('lease') ?? LEASE) * MINUTE_MS
  const retainMs = (given('kept') ?? RETENTION) * MINUTE_MS
  const seen = given('seen')
  const [attempts, minutes] = [given('park'), given('after')]
  const failed = failedDelivery(key, {
    ...deliveryOf(ordinal),
    isReplay: words.includes('replay'),
    retainMs,
    parkAfter: {
      ...(attempts !== undefined && { attempts }),
      ...(minutes !== undefined && { ms: minutes * MINUTE_MS }),
    },
  })
  const reason = `Reason ${ordinal}`
  const calls: Readonly<Record<string, StoreCall | { readonly do: 'forget' }>> = {
    claim: {
      ...{ do: 'claim', token, leaseMs, retainMs, about: aboutOf(key) },
      ...(seen !== undefined && { replay: { seen } }),
    },
    renew: { do: 'renew', token, leaseMs },
    complete: {
      do: 'complete',
      token,
      retainMs,
      ...(words.includes('discarded') && { discarded: { reason } }),
    },
    release: { do: 'release', token },
    fail: { do: 'fail', token, failed },
    keep: { do: 'keep', failed },
    discard: { do: 'discard', reason },
    forget: { do: 'forget' },
  }
  const call = calls[verb.toLowerCase()]
  if (call === undefined) throw new Error(`no call is named ${verb}`)
  return call
}

export function answerOf(answer: string): ExpectedAnswer {
  const [word = '', minutes] = answer.split(' ')
  if (word === 'yes' || word === 'no') return word === 'yes'
  if (word === 'left') return inFlight(Number(minutes))
  if (word === 'released') return { status: 'in_flight', retryAfterMs: 1 }
  if (word === 'completed') return completed
  if (word === 'waits') return { status: 'parked' }
  return /^\d+$/.test(word) ? claimed(Number(word)) : (word as ExpectedAnswer)
}

/**
 * Defines cases by a table: `id: name`, and below it the steps of each sequence, four spaces from the left, on one line or more, which are then six from
 * the left.
 */
export function casesIn<Case>(
  table: string,
  define: (title: string, sequences: readonly string[]) => Case,
): Case[] {
  const [, ...cases] = table.split(/\n {2}(?=\S)/)
  return cases.map((one) => {
    const [title = '', ...sequences] = one.trimEnd().split(/\n {4}(?=\S)/)
    return define(title, sequences)
  })
}

/** The parts of a title such as `claim-fresh: MUST grant an unknown key.` */
export function titleOf(title: string): { readonly id: string; readonly name: string } {
  const end = title.indexOf(': ')
  return { id: title.slice(0, end), name: title.slice(end + 2) }
}

/** A step in which only time passes. */
function advance(minutes: number): Step {
  return { label: `${minutes} min pass`, action: { do: 'advance', ms: minutes * MINUTE_MS } }
}

/** What the receiver says of an event when it claims it. */
export function aboutOf(key: string): Pick<FailedDelivery, 'namespace' | 'account' | 'kind'> {
  return { namespace: key.slice(0, 36), account: 'acct_1', kind: 'order.created' }
}

export const encode = (text: string): Uint8Array => new TextEncoder().encode(text)

/** A delivery that failed, with all fields but those that are given as undefined. */
export function failedDelivery(
  key: string,
  given: { readonly [Name in keyof FailedDelivery]?: FailedDelivery[Name] | undefined } = {},
): FailedDelivery {
  const all = {
    ...aboutOf(key),
    ...{ key, eventId: 'evt_1', orderId: 'ord_1', rawBody: encode('{"type":"order.created"}') },
    ...{ signedAt: new Date(SIGNED_MS), secretIndex: 0, code: 'handler_failed' },
    ...{ message: 'The stock is unknown.', group: '0123456789abcdef', isReplay: false },
    retainMs: RETENTION * MINUTE_MS,
    ...given,
  }
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)) as never
}

/** The deliveries of one event differ in each field; half of them have no ids. */
function deliveryOf(ordinal: number): Parameters<typeof failedDelivery>[1] {
  const hasIds = ordinal % 2 === 0
  return {
    eventId: hasIds ? `evt_${ordinal}` : undefined,
    orderId: hasIds ? `ord_${ordinal}` : undefined,
    rawBody: encode(`{"type":"order.created","delivery":${ordinal}}`),
    signedAt: new Date(SIGNED_MS + ordinal * MINUTE_MS),
    secretIndex: ordinal % 2,
    code: `code_${ordinal}`,
    message: `Message ${ordinal}`,
    group: ordinal.toString(16).padStart(16, '0'),
  }
}
