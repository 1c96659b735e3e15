import type { ClockView } from './control-api.js'
import { sayDuration } from './durations.js'

/** `2026-12-01T19:00:00.000Z, frozen, next in 5 s` */
export function clockLine({ now, frozen, next_at: nextAt }: ClockView): string {
  const next =
    nextAt === null
      ? 'nothing is due'
      : `next in ${sayDuration(Date.parse(nextAt) - Date.parse(now))} (${nextAt})`
  return `${now}, ${frozen ? 'frozen' : 'running'}, ${next}`
}
