import ms from 'ms'
import { RETRY_SCHEDULE } from 'tix-webhooks/testing'
import { Random } from '../lib/random.js'

/** How long the service goes on trying. */
const WINDOW_SECONDS = 72 * 3600
const MAX_STEPS = 100
/** Two attempts are never nearer to each other. */
export const MIN_GAP_MS = 1000

/** Schedules by name, in seconds after the first attempt. */
const PRESETS: Readonly<Record<string, readonly number[]>> = {
  default: RETRY_SCHEDULE,
  // n⁴ seconds, as one ticketing service does: 22 attempts in all.
  quartic: Array.from({ length: 21 }, (_, index) => (index + 2) ** 4),
  fast: [1, 2, 4],
}

/**
 * A retry schedule, in seconds after the first attempt, from a name (`default`, `quartic`, `fast`), a list such as
 * `5s,1m,1h`, or numbers of seconds. An empty list of numbers is a schedule without retries.
 *
 * @throws TypeError that says what is wrong with it
 */
export function retrySchedule(schedule: string | readonly number[]): readonly number[] {
  if (typeof schedule !== 'string') return checked(schedule, String)
  if (Object.hasOwn(PRESETS, schedule)) return PRESETS[schedule] as readonly number[]
  const steps = schedule.split(',').map((step) => step.trim())
  return checked(steps.map(secondsOf), (_, index) => steps[index] as string)
}

function secondsOf(step: string): number {
  if (/^\d+(\.\d+)?(ms|s|m|h|d)$/.test(step)) return ms(step as ms.StringValue) / 1000
  throw new TypeError(
    `The retry schedule is ${Object.keys(PRESETS).join(', ')}, or a list of times after the first attempt such as 5s,1m,1h; ${JSON.stringify(step)} is none of them.`,
  )
}

function checked(
  schedule: readonly number[],
  show: (step: number, index: number) => string,
): readonly number[] {
  if (!Array.isArray(schedule)) {
    throw new TypeError(
      'The retry schedule must be a list of seconds after the first attempt, such as [5, 60].',
    )
  }
  if (schedule.length > MAX_STEPS) {
    throw new TypeError(`The retry schedule has ${schedule.length} steps: ${MAX_STEPS} is the maximum.`)
  }
  schedule.forEach((step, index) => {
    const before = schedule[index - 1] ?? 0
    if (typeof step !== 'number' || !(step - before >= MIN_GAP_MS / 1000)) {
      throw new TypeError(
        `Each step of the retry schedule must be at least 1 s later than the one before: they count from the first attempt, and ${show(step, index)} comes after ${index === 0 ? 'its 0 s' : show(before, index - 1)}.`,
      )
    }
    if (step > WINDOW_SECONDS) {
      throw new TypeError(
        `The retry schedule must end within 72 hours, as the service's does; ${show(step, index)} is later.`,
      )
    }
  })
  return [...schedule]
}

/**
 * When one delivery is tried again, in milliseconds after its first attempt: each step is off by a part of the gap before it, in
 * either direction, the last one only earlier.
 *
 * @param schedule in seconds
 * @param jitter what part of a gap, from 0 to 0.5
 * @param seed of this delivery: it gives the same times again
 */
export function jittered(schedule: readonly number[], jitter: number, seed: number): readonly number[] {
  const random = new Random(seed)
  const endMs = (schedule.at(-1) ?? 0) * 1000
  const steps = schedule.map((step, index) => {
    const gap = step - (schedule[index - 1] ?? 0)
    const isLast = index === schedule.length - 1
    const part = isLast ? -random.fraction() : 2 * random.fraction() - 1
    return Math.min(Math.floor((step + part * jitter * gap) * 1000), endMs)
  })
  // Jitter can change the order of two attempts, if a long gap comes before a short one.
  return steps.sort((a, b) => a - b)
}
