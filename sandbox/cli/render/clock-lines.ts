import { sayDuration } from '../arguments/durations.js'
import type { ClockView } from '../client/control-api.js'
import { printable } from '../terminal/output.js'

/** `2026-12-01T19:00:00.000Z, frozen, next: attempt 2 of order.created [dlv_…] in 5 s` */
export function clockLine({ now, frozen, next_at: nextAt, next_what: what }: ClockView): string {
  const time = `${now}, ${frozen ? 'frozen' : 'running'}`
  if (nextAt === null) return `${time}, nothing is due`
  const duration = sayDuration(Date.parse(nextAt) - Date.parse(now))
  return `${time}, next${what === null ? '' : `: ${printable(what)}`} in ${duration}`
}

/** `12:00:05`, by the clock of this machine, as the log of an app has it. */
export function timeOfDay(at: Date = new Date()): string {
  return [at.getHours(), at.getMinutes(), at.getSeconds()]
    .map((part) => String(part).padStart(2, '0'))
    .join(':')
}
