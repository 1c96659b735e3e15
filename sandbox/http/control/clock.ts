import * as z from 'zod'
import { utcText } from '../../domain/events/moments.js'
import { isSuccess } from '../../engine/attempts.js'
import { isParkedDelivery } from '../../engine/record/records.js'
import type { AdvanceCounts, Service } from '../../service/service.js'
import type { Advance } from '../../time/clock.js'
import type { App } from '../context.js'
import { HttpError } from '../errors.js'
import { invalid, readBody, span } from './input.js'
import type { ControlParts } from './parts.js'
import type { ClockView } from './views.js'

/** Moments are written with a year of four digits. */
const END_MS = Date.UTC(9000, 0)

const clockBody = z.strictObject({
  advance: span.exactOptional(),
  to: z
    .string()
    .refine((text) => text === 'next' || isMoment(text), {
      error: 'must be "next", or ISO 8601 with a timezone offset such as 2026-12-01T19:00:00Z',
    })
    .exactOptional(),
  freeze: z.literal(true).exactOptional(),
  run: z.literal(true).exactOptional(),
  stop: z.literal(true).exactOptional(),
})

function isMoment(text: string): boolean {
  return z.iso.datetime({ offset: true }).safeParse(text).success
}

/** Adds `/clock`. */
export function addClock(app: App, { service, realNow }: ControlParts): void {
  app.get('/_sandbox/clock', (c) => c.json(clockJson(service, realNow)))

  app.post('/_sandbox/clock', async (c) => {
    const body = await readBody(c, clockBody)
    if (Object.keys(body).length !== 1) {
      throw invalid('Give exactly one of advance, to, freeze, run and stop, such as {"advance":"72h"}.')
    }
    const { clock } = service
    if (body.freeze) clock.freeze()
    if (body.run) clock.run()
    if (body.stop) clock.breakOff()
    const moves = body.advance !== undefined || body.to !== undefined
    const advanced = moves ? await counted(service, (begins) => move(service, body, begins)) : undefined
    service.changed({ what: 'clock' })
    return c.json({ ...clockJson(service, realNow), ...advanced })
  })
}

/** The clock, as the control API shows it. */
export function clockJson({ clock, advances }: Service, realNow: () => number): ClockView {
  const [advancing] = [...advances].slice(-1)
  const nextAtMs = clock.nextAt()
  return {
    now: utcText(clock.now()),
    frozen: clock.isFrozen,
    next_at: nextAtMs === undefined ? null : utcText(nextAtMs),
    next_what: clock.nextLabel() ?? null,
    real_now: utcText(realNow()),
    ...(advancing && { advancing }),
  }
}

async function move(
  { clock }: Service,
  { advance, to }: z.output<typeof clockBody>,
  begins: () => void,
): Promise<Advance> {
  if (to === 'next') return clock.advanceToNext(begins)
  const targetMs = to === undefined ? clock.now() + (advance ?? 0) : Date.parse(to)
  if (targetMs >= END_MS) throw invalid('The clock ends with the year 8999.', to ? 'to' : 'advance')
  if (to === undefined) return clock.advanceBy(advance ?? 0, begins)
  try {
    return await clock.advanceTo(targetMs, begins)
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw new HttpError('time_goes_forward', error.message, { param: 'to' })
  }
}

/** Counts the attempts of an advance while it is under way. */
async function counted(service: Service, advance: (begins: () => void) => Promise<Advance>): Promise<object> {
  const counts: AdvanceCounts = { delivered: 0, failed: 0 }
  service.advances.add(counts)
  try {
    return await countAttempts(service, counts, advance)
  } finally {
    service.advances.delete(counts)
  }
}

/** Moves the clock, and reports the attempts made and the deliveries that ended. */
async function countAttempts(
  service: Service,
  attempts: AdvanceCounts,
  advance: (begins: () => void) => Promise<Advance>,
): Promise<object> {
  const ended = { delivered: 0, parked: 0, given_up: 0 }
  const retrying = new Set<string>()
  const tries: [number, number] = [Number.POSITIVE_INFINITY, 0]
  let hasBegun = false
  const stop = service.subscribe((change) => {
    if (!hasBegun || change.what !== 'attempt' || change.attempt.trigger !== 'auto') return
    const { id, status, attempts: tried } = change.delivery
    attempts[isSuccess(change.attempt) ? 'delivered' : 'failed'] += 1
    retrying.delete(id)
    if (status === 'retrying') retrying.add(id)
    if (status === 'delivered') {
      ended.delivered += 1
      if (isParkedDelivery(change.delivery)) ended.parked += 1
    }
    if (status !== 'failed') return
    const count = tried.filter(({ trigger }) => trigger === 'auto').length
    ended.given_up += 1
    tries.splice(0, 2, Math.min(tries[0], count), Math.max(tries[1], count))
  })
  try {
    // An attempt of another advance, which this one waits for, is counted there.
    const { fromMs, timers } = await advance(() => {
      hasBegun = true
    })
    const deliveries = {
      ...ended,
      retrying: retrying.size,
      given_up_after: ended.given_up === 0 ? null : tries,
    }
    return { from: utcText(fromMs), ran: timers, attempts, deliveries }
  } finally {
    stop()
  }
}
