const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** `5 s`, `3 min`, `2 h`, `4 d`. */
export function span(ms: number): string {
  const length = Math.abs(ms)
  if (length < MINUTE) return `${Math.floor(length / SECOND)} s`
  if (length < HOUR) return `${Math.floor(length / MINUTE)} min`
  if (length < 3 * DAY) return `${rounded(length / HOUR)} h`
  return `${Math.floor(length / DAY)} d`
}

export const age = (ms: number): string => (ms < SECOND ? 'now' : span(ms))

/** Tenths are shown only below 10: `1.5 h`, but `37 h`. */
const rounded = (count: number): string =>
  String(count < 10 ? Math.floor(count * 10) / 10 : Math.floor(count))

/** `22 Nov 21:15:07`, in UTC like all times of the service. */
export function moment(iso: string): string {
  return new Date(iso).toUTCString().replace(/^.*?(\d+ \w+) \d+ (.*) GMT$/, '$1 $2')
}

export function milliseconds(ms: number): string {
  return ms < SECOND ? `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms` : `${(ms / SECOND).toFixed(1)} s`
}

export function bytes(text: string): string {
  const size = new TextEncoder().encode(text).length
  if (size < 1024) return `${size} B`
  return size < 1024 * 1024 ? `${(size / 1024).toFixed(1)} KiB` : `${(size / 1024 / 1024).toFixed(1)} MiB`
}

/** The service names no currency. */
export const price = (cents: number): string => (cents / 100).toFixed(2)

export const count = (number: number, one: string, many = `${one}s`): string =>
  `${number.toLocaleString('en')} ${number === 1 ? one : many}`

/** The last characters of a secret: enough to distinguish two, and too few to leak one. */
export const endOf = (secret: string): string => `…${secret.length > 8 ? secret.slice(-4) : ''}`
