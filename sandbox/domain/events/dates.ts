import { type Problem, Refusal } from '../refusal.js'
import { DEFAULT_DURATION_MS } from '../requests/limits.js'
import { refuseIfAny } from '../requests/missing.js'
import { type Moment, type MomentForm, readMoment, shiftMoment, utcText } from './moments.js'

/** When an event is, and when it goes live. */
export interface Dates {
  readonly doorsAt: Moment
  readonly endsAt: Moment
  readonly onSaleAt: Moment | undefined
}

/** The dates that a caller gave. */
export interface GivenDates {
  readonly doors_at?: string | undefined
  readonly ends_at?: string | undefined
  readonly on_sale_at?: string | null | undefined
}

/** A text that its schema has let through. */
export function checkedMoment(text: string, form: MomentForm = 'with offset'): Moment {
  const moment = readMoment(text, form)
  if (typeof moment === 'string') throw new TypeError(`${text} ${moment}.`)
  return moment
}

/** The dates of a new event. */
export function datesOf(given: GivenDates & { doors_at: string }): Dates | Problem {
  return withEnd(given, checkedMoment(given.doors_at), DEFAULT_DURATION_MS, toOnSale(given.on_sale_at))
}

/** The dates of an event after an update, which moves what it names and nothing else. */
export function updatedDates(before: Dates, given: GivenDates): Dates {
  return {
    doorsAt: given.doors_at === undefined ? before.doorsAt : checkedMoment(given.doors_at),
    endsAt: given.ends_at === undefined ? before.endsAt : checkedMoment(given.ends_at),
    onSaleAt: given.on_sale_at === undefined ? before.onSaleAt : toOnSale(given.on_sale_at),
  }
}

/**
 * The dates of an event that is rescheduled: it is as long as before, unless its end is given.
 *
 * @throws Refusal if the dates are unchanged, or not in the future
 */
export function rescheduledDates(
  before: Dates,
  given: GivenDates & { doors_at: string },
  nowMs: number,
): Dates {
  const lengthMs = before.endsAt.ms - before.doorsAt.ms
  const dates = withEnd(given, checkedMoment(given.doors_at), lengthMs, before.onSaleAt)
  if ('code' in dates) throw new Refusal(dates)
  const { doorsAt } = dates
  refuseIfAny([
    doorsAt.ms === before.doorsAt.ms
      ? {
          code: 'doors_at_unchanged',
          message: `doors_at is ${before.doorsAt.text} already: give another time. To change only the end, use PATCH /v2/events/{id}.`,
          param: 'doors_at',
        }
      : undefined,
    doorsAt.ms <= nowMs
      ? {
          code: 'doors_at_in_past',
          message: `doors_at must be in the future: in the sandbox it is ${utcText(nowMs)}, and ${doorsAt.text} is past.`,
          param: 'doors_at',
        }
      : undefined,
    ...problemsOfDates(dates, given),
  ])
  return dates
}

/** Checks the dates against each other. The refusal names a field that was given. */
export function problemsOfDates({ doorsAt, endsAt, onSaleAt }: Dates, given: GivenDates): Problem[] {
  const problems: Problem[] = []
  const param = given.ends_at === undefined ? 'doors_at' : 'ends_at'
  if (endsAt.ms <= doorsAt.ms) {
    problems.push({
      code: 'ends_at_before_doors_at',
      message: `ends_at must be later than doors_at: it would end at ${endsAt.text}, and its doors are at ${doorsAt.text}.`,
      param,
    })
  }
  if (onSaleAt !== undefined && onSaleAt.ms >= endsAt.ms) {
    const isGiven = typeof given.on_sale_at === 'string'
    problems.push({
      code: 'on_sale_after_end',
      message: `on_sale_at must be earlier than ends_at: it would go live at ${onSaleAt.text}, and end at ${endsAt.text}.${isGiven ? '' : ' Change on_sale_at first, or publish the event.'}`,
      param: isGiven ? 'on_sale_at' : param,
    })
  }
  return problems
}

function toOnSale(text: string | null | undefined): Moment | undefined {
  return typeof text === 'string' ? checkedMoment(text, 'offset optional') : undefined
}

function withEnd(
  given: GivenDates,
  doorsAt: Moment,
  lengthMs: number,
  onSaleAt: Moment | undefined,
): Dates | Problem {
  const endsAt = given.ends_at === undefined ? shiftMoment(doorsAt, lengthMs) : checkedMoment(given.ends_at)
  if (endsAt !== undefined) return { doorsAt, endsAt, onSaleAt }
  return {
    code: 'parameter_invalid',
    message: `doors_at is so late that the event would end beyond the year 9998: give an earlier one, not ${doorsAt.text}.`,
    param: 'doors_at',
  }
}
