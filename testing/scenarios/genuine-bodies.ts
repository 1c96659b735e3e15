import type { Envelope } from '../../src/index.js'

type AnyEnvelope = Envelope<string, Readonly<Record<string, unknown>>>

/** Combining characters, characters of several bytes, a joined emoji, text in both directions, and line separators that JSON does not escape. */
const ODD_TEXT = 'Zoe\u0308 & Zoë, 2 × 18 €, עברית, 🎟👩‍👧 \u2028\u2029 "\\/"'

const LARGE_BYTES = 512 * 1024

/** The event in other JSON: indented with spaces; and with tabs and CRLF, and a CRLF at its end. */
export function spacedOut(body: string): string[] {
  const event: unknown = JSON.parse(body)
  return [JSON.stringify(event, null, 2), `${JSON.stringify(event, null, '\t').replaceAll('\n', '\r\n')}\r\n`]
}

/** The event with unusual text, raw; and with every slash and non-ASCII character escaped, as PHP does. */
export function withOddText(body: string): string[] {
  const event = read(body)
  const data = mapTexts(event.data)
  const hasText = JSON.stringify(data) !== JSON.stringify(event.data)
  const text = JSON.stringify(hasText ? { ...event, data } : { ...event, note: ODD_TEXT })
  return [text, text.replaceAll('/', '\\/').replaceAll(/[^\0-\x7f]/g, escaped)]
}

/** The event with undocumented fields before and after the documented ones. */
export function withExtraFields(body: string): string {
  const event = read(body)
  const data = { unheard_of: [1, { deep: null }], ...event.data, added_later: true }
  return JSON.stringify({ api_version: '2031-01-01', ...event, data, livemode: false })
}

/** The event with nothing but an event id as its data. */
export function thinned(body: string): string {
  const event = read(body)
  return JSON.stringify({ ...event, data: { event: { id: eventId(event.data) } } })
}

/** Whether the data has such an id. */
export function hasEventId({ type, data }: { readonly type: string; readonly data: unknown }): boolean {
  return type.startsWith('event.') && typeof eventId(data) === 'string'
}

/** The event in 512 KiB, with its kind after the padding. */
export function enlarged(body: string): string {
  const large = (padding: string): string => JSON.stringify({ padding, ...read(body) })
  const room = LARGE_BYTES - new TextEncoder().encode(large('')).length
  return large('x'.repeat(Math.max(room, 0)))
}

/** The event half a minute before another one, or `seconds` before it. No sample has such a time: they are whole minutes apart. */
export function happenedEarlier(body: string, than: string, seconds = 30): string {
  const ms = Date.parse(read(than).created_at) - seconds * 1000
  return JSON.stringify({ ...read(body), created_at: new Date(ms).toISOString() })
}

/** The event at the time of another one; earlier if the two have the same data, because then they would be identical. */
export function happenedTogether(body: string, other: string): string {
  const [event, { created_at, data }] = [read(body), read(other)]
  if (JSON.stringify(event.data) === JSON.stringify(data)) return happenedEarlier(body, other, 15)
  return JSON.stringify({ ...event, created_at })
}

function read(body: string): AnyEnvelope {
  return JSON.parse(body) as AnyEnvelope
}

function eventId(data: unknown): unknown {
  return (data as { event?: { id?: unknown } | null } | null)?.event?.id
}

/** Adds the unusual text to titles and tiers. */
function mapTexts(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(mapTexts)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => {
      const isText = typeof field === 'string' && (name === 'title' || name === 'tier')
      return [name, isText ? `${field} ${ODD_TEXT}` : mapTexts(field)]
    }),
  )
}

function escaped(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
}
