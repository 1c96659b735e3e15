import { outcomeOf } from './outcome-of.js'

/** An answer, as far as its words are read. */
interface Answer {
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

const MAX_LENGTH = 120
/** How much of a body is read: the message of an error page comes after its style. */
const MAX_READ = 16 * 1024
/** Where frameworks put the message of an error. */
const MESSAGE_FIELDS = ['message', 'error', 'detail', 'title', 'reason', 'description', 'errors']

/** Outcomes of our receivers that add nothing to a 200 or a 500. */
const SAID_BY_THE_STATUS = ['handled', 'failed']

const known = new WeakMap<Answer, string | undefined>()

/**
 * The first words of an answer, for people: the message in its JSON, the first line of text on its HTML page, or its first line;
 * undefined if it has none. An answer is immutable, so it is read once.
 */
export function firstWords(answer: Answer): string | undefined {
  if (!known.has(answer)) known.set(answer, shortened(wordsOf(answer)))
  return known.get(answer)
}

function wordsOf({ headers, body }: Answer): string {
  const text = body.slice(0, MAX_READ)
  if (/^\s*</.test(text) || /\bhtml\b/.test(headers['content-type'] ?? ''))
    return firstLine(withoutTags(text))
  const outcome = outcomeOf(body)
  if (outcome !== undefined) return SAID_BY_THE_STATUS.includes(outcome) ? '' : outcome
  return messageIn(parsed(body)) ?? firstLine(text)
}

function parsed(body: string): unknown {
  if (body.length > MAX_READ) return undefined
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}

/** The first text in the fields of an error; in an object of them, one level deeper. */
function messageIn(value: unknown, depth = 0): string | undefined {
  if (typeof value === 'string') return value
  if (typeof value !== 'object' || value === null || depth > 2) return undefined
  const parts = Array.isArray(value)
    ? value
    : MESSAGE_FIELDS.map((field) => (value as Record<string, unknown>)[field])
  for (const part of parts) {
    const message = messageIn(part, depth + 1)
    if (message !== undefined && message.trim() !== '') return message
  }
  return undefined
}

/** The text of a page: its blocks are lines. */
function withoutTags(html: string): string {
  return html
    .replaceAll(/<(script|style|head|title)\b[\s\S]*?<\/\1>/gi, '\n')
    .replaceAll(/<(br|hr|p|div|h\d|pre|li|tr|body|main)\b[^>]*>/gi, '\n')
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/&(nbsp|lt|gt|quot|#39|amp);/g, (_, name: string) => ENTITIES[name] ?? ' ')
}

const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', '#39': "'", amp: '&' }

function firstLine(text: string): string {
  return text.split('\n').find((line) => line.trim() !== '') ?? ''
}

function shortened(text: string): string | undefined {
  const line = firstLine(text).replaceAll(/\s+/g, ' ').trim()
  if (line === '') return undefined
  const characters = [...line.slice(0, 4 * MAX_LENGTH)]
  return characters.length <= MAX_LENGTH
    ? line
    : `${characters
        .slice(0, MAX_LENGTH - 1)
        .join('')
        .trimEnd()}…`
}
