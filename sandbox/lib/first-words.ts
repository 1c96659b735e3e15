import { outcomeOf } from './outcome-of.js'

/** The parts of an answer that are read. */
interface Answer {
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

const MAX_LENGTH = 120
const MAX_DEPTH = 4

/** Where frameworks put the message of an error. */
const MESSAGE_FIELDS = [
  'message',
  'msg',
  'error',
  'detail',
  'title',
  'reason',
  'description',
  'errors',
  'issues',
]

/** The message in JSON that was cut off. */
const MESSAGE = new RegExp(`"(?:${MESSAGE_FIELDS.join('|')})"\\s*:\\s*"((?:[^"\\\\]|\\\\.)+)"`)

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

/** Quotes an answer's words for a sentence. */
export const quoted = (words: string): string => `“${words}”`

function wordsOf({ headers, body }: Answer): string {
  if (isBinary(body)) return ''
  if (/^\s*</.test(body) || /\bhtml\b/.test(headers['content-type'] ?? '')) return wordsOfPage(body)
  const outcome = outcomeOf(body)
  if (outcome !== undefined) return SAID_BY_THE_STATUS.includes(outcome) ? '' : outcome
  return /^\s*[[{"]/.test(body) ? wordsOfJson(body) : firstLine(body)
}

function isBinary(body: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
  return /[\0-\x08\x0e-\x1a\ufffd]/.test(body.slice(0, 256))
}

function wordsOfJson(body: string): string {
  try {
    const value: unknown = JSON.parse(body)
    return messageIn(value) ?? JSON.stringify(value)
  } catch {
    // One line, because the first of it may be a brace alone.
    return MESSAGE.exec(body)?.[1] ?? body.slice(0, 4 * MAX_LENGTH).replaceAll('\n', ' ')
  }
}

/** The first text in the fields of an error; in what these hold, in any field. */
function messageIn(value: unknown, depth = 0): string | undefined {
  if (typeof value === 'string') return value.trim() === '' ? undefined : value
  if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return undefined
  const fields = value as Readonly<Record<string, unknown>>
  const named = Array.isArray(value) ? value : MESSAGE_FIELDS.map((field) => fields[field])
  const found = firstOf(named, depth)
  return found === undefined && depth > 0 ? firstOf(Object.values(fields).filter(isList), depth) : found
}

const isList = Array.isArray

function firstOf(values: readonly unknown[], depth: number): string | undefined {
  for (const value of values.slice(0, 100)) {
    const message = messageIn(value, depth + 1)
    if (message !== undefined) return message
  }
  return undefined
}

/** The first line of a page with a letter in it: its number may stand alone. Else its title. */
function wordsOfPage(html: string): string {
  const page = html.replaceAll(/<!--[\s\S]*?(-->|$)/g, ' ')
  const body = page
    .replaceAll(/<(script|style|head|title|svg)\b[\s\S]*?(<\/\1>|$)/gi, '\n')
    .replaceAll(/<pre\b[\s\S]*?(<\/pre>|$)/gi, (pre) => pre.replaceAll('\n', '<br>'))
  const lines = textOf(body).split('\n')
  const title = /<title[^>]*>([^<]*)/i.exec(page)?.[1] ?? ''
  return (
    lines.find((line) => /\p{L}/u.test(line)) ?? (firstLine(textOf(title)) || firstLine(lines.join('\n')))
  )
}

/** The text in HTML: its blocks are lines. */
function textOf(html: string): string {
  return html
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/<\/?(br|hr|p|div|h\d|pre|li|ul|tr|table|body|main|section)\b[^>]*>/gi, '\n')
    .replaceAll(/<[^>]*>/g, '')
    .replaceAll(/&(#x?[\da-f]+|[a-z]+);/gi, (whole, name: string) => characterOf(name) ?? whole)
}

const ENTITIES: Readonly<Record<string, string>> = {
  amp: '&',
  apos: "'",
  gt: '>',
  hellip: '…',
  ldquo: '“',
  lsquo: '‘',
  lt: '<',
  mdash: '—',
  nbsp: ' ',
  ndash: '–',
  quot: '"',
  rdquo: '”',
  rsquo: '’',
}

function characterOf(name: string): string | undefined {
  const [, hex, decimal] = /^#(?:x([\da-f]+)|(\d+))$/i.exec(name) ?? []
  const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16)
  return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : ENTITIES[name]
}

function firstLine(text: string): string {
  return /\S.*/.exec(text)?.[0] ?? ''
}

function shortened(text: string): string | undefined {
  const line = firstLine(text.slice(0, 8 * MAX_LENGTH))
    .replaceAll(/\s+/g, ' ')
    .trim()
  if (line === '') return undefined
  const characters = [...line]
  return characters.length <= MAX_LENGTH
    ? line
    : `${characters
        .slice(0, MAX_LENGTH - 1)
        .join('')
        .trimEnd()}…`
}
