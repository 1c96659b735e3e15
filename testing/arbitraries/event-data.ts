import * as fc from 'fast-check'
import type { OrderCreatedData, OrderTicket } from '../../src/index.js'
import {
  type PreviousDates,
  SAMPLES,
  type SampleDataByKind,
  type TicketedEvent,
} from '../deliveries/samples.js'
import { joined, objectsOf, texts, weighted } from './json.js'

/** The date to which dates shrink. */
const SHRUNK_MS = Date.UTC(2026, 4, 17, 14)
const CENTURY_SECONDS = 3_155_760_000

const TIERS = ['general admission', 'balcony', 'VIP']
/** Reserved names, without mail or servers (RFC 2606). */
const HOSTS = ['example.com', 'tickets.example.org', 'box-office.example', 'xn--bcher-kva.example']
const REFUND_POLICIES = 'refundable_24h anytime refundable_7d final exchange_only'.split(' ')
const STATUSES = 'on_sale draft sold_out past cancelled'.split(' ')
/** Offsets of time zones, not all of them whole hours. */
const OFFSETS = ['+02:00', 'Z', '-05:00', '+05:30', '+05:45', '-03:30', '+13:00', '-11:00']

/** Times within a hundred years, in milliseconds: most are whole seconds. */
export function moments(): fc.Arbitrary<number> {
  const seconds = fc.integer({ min: -CENTURY_SECONDS / 4, max: (CENTURY_SECONDS * 3) / 4 })
  const ms = weighted([3, fc.constant(0)], [1, fc.nat(999)])
  return fc.tuple(seconds, ms).map(([past, more]) => SHRUNK_MS + past * 1000 + more)
}

/** The data of `order.created`, with the documented fields. */
export function orderData(): fc.Arbitrary<OrderCreatedData> {
  return objectsOf({
    order: objectsOf({ id: ids('ord_'), total_cents: cents(), buyer_email: emails() }),
    tickets: weighted([9, tickets(8)], [1, tickets(150, 'max')]),
  })
}

/** The data of `event.rescheduled`, which was rescheduled at its `updated_at`: a sample with other texts, amounts, dates and time zones. */
export function rescheduledData(
  status?: TicketedEvent['status'],
): fc.Arbitrary<SampleDataByKind['event.rescheduled']> {
  return fc
    .tuple(
      fc.nat(100_000),
      moments(),
      fc.constantFrom(...OFFSETS),
      objectsOf({
        // "No HTML", says the specification.
        title: texts().map((title) => title.replaceAll('<', '‹')),
        description_md: fc.array(texts()).map((paragraphs) => paragraphs.join('\n\n')),
        gross_cents: cents(),
        refund_policy: wordsOf<TicketedEvent['refund_policy']>(REFUND_POLICIES),
        transferable: fc.boolean(),
        status: wordsOf<TicketedEvent['status']>(status === undefined ? STATUSES : [status]),
      }),
    )
    .map(([seed, atMs, offset, fields]) => {
      const { event, previous_attributes } = SAMPLES['event.rescheduled']({ seed, prefix: '', atMs })
      const inZone = ({ doors_at, ends_at }: PreviousDates): PreviousDates => ({
        doors_at: doors_at.replace('+02:00', offset),
        ends_at: ends_at.replace('+02:00', offset),
      })
      return {
        event: { ...event, ...fields, ...inZone(event) },
        previous_attributes: inZone(previous_attributes),
      }
    })
}

function wordsOf<Word extends string>(words: readonly string[]): fc.Arbitrary<Word> {
  return fc.constantFrom(...words) as fc.Arbitrary<Word>
}

function tickets(maxLength: number, size?: 'max'): fc.Arbitrary<OrderTicket[]> {
  const tier = fc.oneof({ withCrossShrink: true }, fc.constantFrom(...TIERS), texts())
  return fc.uniqueArray(objectsOf({ id: ids('tik_'), tier }), {
    selector: ({ id }) => id,
    maxLength,
    ...(size && { size }),
  })
}

/** Ids with a prefix. */
function ids(prefix: string): fc.Arbitrary<string> {
  const unit = fc.constantFrom(...'0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ')
  return joined(unit, { minLength: 1, maxLength: 32 }).map((rest) => `${prefix}${rest}`)
}

/** Amounts: often 0, and sometimes more than 32 bits hold. */
function cents(): fc.Arbitrary<number> {
  return weighted([1, fc.constant(0)], [6, fc.nat(100_000)], [1, fc.nat(1_000_000_000_000)])
}

/** Addresses with any local part, at hosts without mail. */
function emails(): fc.Arbitrary<string> {
  return fc
    .tuple(fc.emailAddress(), fc.constantFrom(...HOSTS))
    .map(([address, host]) => `${address.slice(0, address.lastIndexOf('@'))}@${host}`)
}
