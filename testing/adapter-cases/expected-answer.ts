import { answerTo, type Outcome, type OutcomeName } from '../../src/index.js'
import type { AdapterAnswer } from './harness.js'

/** The outcome that a delivery must have. It decides the whole answer. */
export type ExpectedOutcome = OutcomeName | Outcome

/** The headers that an outcome decides. A framework may add others. */
const DECIDED_HEADERS = ['content-type', 'retry-after'] as const

const MAX_LENGTH = 200

/**
 * The fault of an answer, or undefined.
 *
 * @param hidden texts that no header may contain
 */
export function faultOf(
  answer: AdapterAnswer,
  expected: readonly ExpectedOutcome[],
  hidden: readonly string[],
): string | undefined {
  const actual = describeAnswer(answer)
  const wanted = expected.map((one) => describeOutcome(one))
  if (!wanted.includes(actual)) return `expected ${wanted.join(' or ')}, but got ${actual}`
  for (const [name, value] of headersOf(answer)) {
    const leaked = hidden.find((secret) => value.includes(secret))
    if (leaked !== undefined) {
      return `expected headers that reveal nothing, but got ${name}: ${shortened(value)}`
    }
  }
  return undefined
}

/** Whether a client returned an answer at all. */
export function isAnswer(value: unknown): value is AdapterAnswer {
  const { status, headers, text } = (value ?? {}) as Partial<AdapterAnswer>
  return (
    typeof status === 'number' && typeof text === 'string' && typeof headers === 'object' && headers !== null
  )
}

function describeOutcome(expected: ExpectedOutcome): string {
  const outcome = typeof expected === 'string' ? { outcome: expected } : expected
  const { status, headers, body } = answerTo(outcome)
  return describeAnswer({ status, headers, text: body })
}

/** Describes all of an answer that an outcome decides: equal descriptions are equal answers. */
function describeAnswer(answer: AdapterAnswer): string {
  const headers = headersOf(answer)
  const decided = DECIDED_HEADERS.flatMap((name) => {
    const value = headers.get(name)
    if (value === undefined) return name === 'content-type' ? 'no content-type' : []
    return `${name}: ${name === 'content-type' ? mediaType(value) : retryAfter(value, answer.text)}`
  })
  return `${answer.status} ${shortened(answer.text) || '(no body)'} with ${decided.join(' and ')}`
}

/** The receiver chooses that of `unavailable` at random: what was refused together must not return together. */
function retryAfter(seconds: string, body: string): string {
  const isSpread = body === answerTo({ outcome: 'unavailable' }).body && /^([5-9]|1[0-5])$/.test(seconds)
  return isSpread ? '5 to 15' : seconds
}

function headersOf({ headers }: AdapterAnswer): Map<string, string> {
  // No instanceof: a client may have a Headers class of its own.
  const entries = isIterable(headers) ? [...headers] : Object.entries(headers)
  const given = entries.filter(([, value]) => value !== undefined)
  return new Map(given.map(([name, value]) => [name.toLowerCase(), String(value)]))
}

function isIterable(headers: AdapterAnswer['headers']): headers is Headers {
  return Symbol.iterator in headers
}

/** Without the charset that frameworks add, which has no meaning for JSON. */
function mediaType(contentType: string): string {
  return (contentType.split(';')[0] ?? '').trim().toLowerCase()
}

/** A text of any length, for a message. */
export function shortened(text: string): string {
  return text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH)}…` : text
}
