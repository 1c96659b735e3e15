import { answerTo, type Outcome, type OutcomeName } from '../../src/index.js'
import type { AdapterAnswer } from './harness.js'

/** What must come of a delivery: the outcome decides the answer, whole. */
export type Expected = OutcomeName | Outcome

/** The headers that an outcome decides. Of others there may be what the framework adds. */
const DECIDED_HEADERS = ['content-type', 'retry-after'] as const

const MAX_TOLD = 200

/**
 * Says what is wrong with an answer, or nothing.
 *
 * @param hidden what no header may tell
 */
export function faultOf(
  answer: AdapterAnswer,
  expected: readonly Expected[],
  hidden: readonly string[],
): string | undefined {
  const told = describeAnswer(answer)
  const wanted = expected.map((one) => describeOutcome(one))
  if (!wanted.includes(told)) return `expected ${wanted.join(' or ')}, but got ${told}`
  for (const [name, value] of headersOf(answer)) {
    const leaked = hidden.find((secret) => value.includes(secret))
    if (leaked !== undefined) {
      return `expected headers that reveal nothing, but got ${name}: ${shortened(value)}`
    }
  }
  return undefined
}

/** Says whether a client gave an answer at all. */
export function isAnswer(value: unknown): value is AdapterAnswer {
  const { status, headers, text } = (value ?? {}) as Partial<AdapterAnswer>
  return (
    typeof status === 'number' && typeof text === 'string' && typeof headers === 'object' && headers !== null
  )
}

function describeOutcome(expected: Expected): string {
  const outcome = typeof expected === 'string' ? { outcome: expected } : expected
  const { status, headers, body } = answerTo(outcome)
  return describeAnswer({ status, headers, text: body })
}

/** Says all of an answer that an outcome decides, so that equal words are equal answers. */
function describeAnswer(answer: AdapterAnswer): string {
  const headers = headersOf(answer)
  const decided = DECIDED_HEADERS.flatMap((name) => {
    const value = headers.get(name)
    if (value === undefined) return name === 'content-type' ? 'no content-type' : []
    return `${name}: ${name === 'content-type' ? mediaType(value) : value}`
  })
  return `${answer.status} ${shortened(answer.text) || '(no body)'} with ${decided.join(' and ')}`
}

function headersOf({ headers }: AdapterAnswer): Map<string, string> {
  // Headers of any origin: a client may bring a class of its own.
  const entries = isIterable(headers) ? [...headers] : Object.entries(headers)
  const given = entries.filter(([, value]) => value !== undefined)
  return new Map(given.map(([name, value]) => [name.toLowerCase(), String(value)]))
}

function isIterable(headers: AdapterAnswer['headers']): headers is Headers {
  return Symbol.iterator in headers
}

/** Frameworks add a charset, which means nothing to JSON. */
function mediaType(contentType: string): string {
  return (contentType.split(';')[0] ?? '').trim().toLowerCase()
}

export function shortened(text: string): string {
  return text.length > MAX_TOLD ? `${text.slice(0, MAX_TOLD)}…` : text
}
