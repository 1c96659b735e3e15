import { durationMs } from '../../internal.js'
import { messageOf, UsageError } from '../failure.js'

/**
 * How long `30s`, `1.5h`, `72h` or `250ms` is, in milliseconds.
 *
 * @throws UsageError for a number without a unit, and for what is no duration
 */
export function readDuration(text: string, name: string): number {
  if (text === '0') return 0
  if (text.startsWith('-')) throw new UsageError(`${name} ${text} is negative: time does not go back.`)
  if (/^\d+(\.\d+)?$/.test(text)) {
    throw new UsageError(`${name} ${text} has no unit: write ${text}s, ${text}m, ${text}h or ${text}d.`)
  }
  try {
    return durationMs(name, text)
  } catch (cause) {
    throw new UsageError(messageOf(cause), { cause })
  }
}

/** The same, in seconds. */
export function readSeconds(text: string, name: string): number {
  return readDuration(text, name) / 1000
}

const UNITS = [
  { ms: 86_400_000, name: 'd' },
  { ms: 3_600_000, name: 'h' },
  { ms: 60_000, name: 'min' },
  { ms: 1000, name: 's' },
]

/** A duration for people, in its two largest units: `1 h 30 min`. */
export function sayDuration(duration: number): string {
  if (duration < 1000) return `${Math.max(0, Math.round(duration))} ms`
  let rest = Math.round(duration / 1000) * 1000
  const first = UNITS.findIndex((unit) => rest >= unit.ms)
  const parts = UNITS.slice(first, first + 2).map((unit) => {
    const count = Math.floor(rest / unit.ms)
    rest -= count * unit.ms
    return { count, name: unit.name }
  })
  return parts
    .filter(({ count }) => count > 0)
    .map(({ count, name }) => `${count} ${name}`)
    .join(' ')
}
