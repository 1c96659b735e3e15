import type { ClockView } from './control-api.js'
import { sayDuration } from './durations.js'
import { printable } from './output.js'

/** `2026-12-01T19:00:00.000Z, frozen, next in 5 s: attempt 2 of order.created [dlv_…]` */
export function clockLine({ now, frozen, next_at: nextAt, next_what: what }: ClockView): string {
  const next =
    nextAt === null
      ? 'nothing is due'
      : `next in ${sayDuration(Date.parse(nextAt) - Date.parse(now))}${what === null ? '' : `: ${printable(what)}`}`
  return `${now}, ${frozen ? 'frozen' : 'running'}, ${next}`
}

/** `12:00:05`, by the clock of this machine, as the log of an app has it. */
export function timeOfDay(at: Date = new Date()): string {
  return [at.getHours(), at.getMinutes(), at.getSeconds()]
    .map((part) => String(part).padStart(2, '0'))
    .join(':')
}
