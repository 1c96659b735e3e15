import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { buildSync } from 'esbuild'
import fc from 'fast-check'
import { parseEvent } from 'tix-webhooks'
import { type PreviousDates, type SampleDataByKind, sampleEvent } from 'tix-webhooks/testing'
import { describe, expect, test } from 'vitest'
import { ROOT } from '../../support/root.js'
import { runs } from '../../support/runs.js'

const MAX_SEED = 2 ** 32 - 1
const SEEDS = [
  ...Array.from({ length: runs(2000) }, (_, seed) => seed),
  2 ** 31 - 1,
  2 ** 31,
  MAX_SEED - 1,
  MAX_SEED,
]

const UTC = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?Z$/
const WITH_OFFSET = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?[+-]\d\d:\d\d$/
const FOUR_HOURS_MS = 4 * 3_600_000
const DAY_MS = 86_400_000

const STATUSES = {
  'event.published': 'on_sale',
  'event.cancelled': 'cancelled',
  'event.rescheduled': 'on_sale',
} as const
type LifecycleKind = keyof typeof STATUSES
const LIFECYCLE_KINDS = Object.keys(STATUSES) as LifecycleKind[]
const KINDS = ['order.created', ...LIFECYCLE_KINDS] as const

const seeds = fc.oneof(
  fc.integer({ min: 0, max: MAX_SEED }),
  fc.nat(20_000),
  fc.constantFrom(0, MAX_SEED - 1, MAX_SEED),
)
const moments = fc.option(fc.integer({ min: 0, max: Date.UTC(9999, 0) - 1 }), { nil: undefined })
const requests = fc.record({ seed: seeds, at: moments })
const RUNS = { numRuns: runs(150) }

const ticketedEventOf = (kind: LifecycleKind, options?: { seed?: number; at?: number | undefined }) =>
  sampleEvent(kind, options as object).data as unknown as {
    event: SampleDataByKind['event.published']['event']
    previous_attributes?: PreviousDates
  }

/** The dates of a show by the specification. */
function expectShow({ doors_at, ends_at }: PreviousDates): void {
  expect(doors_at).toMatch(WITH_OFFSET)
  expect(ends_at).toMatch(WITH_OFFSET)
  expect(Date.parse(ends_at) - Date.parse(doors_at)).toBe(FOUR_HOURS_MS)
}

describe('whatever the seed and the time, a sample', () => {
  test('is an envelope of its kind that the receiver takes, of the time that was asked for', async () => {
    await fc.assert(
      fc.asyncProperty(requests, fc.constantFrom(...KINDS), async ({ seed, at }, kind) => {
        const event = sampleEvent(kind, at === undefined ? { seed } : { seed, at })
        expect(Object.keys(event)).toEqual(['type', 'created_at', 'data'])
        expect(event.type).toBe(kind)
        expect(event.created_at).toMatch(UTC)
        if (at !== undefined) expect(Date.parse(event.created_at)).toBe(at)
        expect(await parseEvent(JSON.stringify(event))).toEqual(event)
      }),
      RUNS,
    )
  })

  test('of order.created has the ids, the cents and the tickets of the specification', () => {
    fc.assert(
      fc.property(requests, ({ seed }) => {
        const { order, tickets } = sampleEvent('order.created', { seed }).data
        expect(Object.keys(order)).toEqual(['id', 'total_cents', 'buyer_email'])
        expect(order.id).toMatch(/^ord_\w{8}$/)
        expect(order.buyer_email).toMatch(/^[\w.]+@example\.com$/)
        expect(tickets.length).toBeGreaterThan(0)
        expect(Number.isSafeInteger(order.total_cents / tickets.length)).toBe(true)
        expect(order.total_cents).toBeGreaterThan(0)
        for (const ticket of tickets) {
          expect(Object.keys(ticket)).toEqual(['id', 'tier'])
          expect(ticket.id).toMatch(/^tik_\w{9}$/)
          expect(ticket.tier).toBe(tickets[0]?.tier)
          expect(ticket.tier).toMatch(/^\w[\w ]+$/)
        }
        expect(new Set(tickets.map(({ id }) => id)).size).toBe(tickets.length)
      }),
      RUNS,
    )
  })

  test('of the event.* kinds has the event object of the specification, in the status of its kind', () => {
    fc.assert(
      fc.property(requests, fc.constantFrom(...LIFECYCLE_KINDS), (request, kind) => {
        const { event } = ticketedEventOf(kind, request)
        expect(Object.keys(event).sort()).toEqual(FIELDS_OF_AN_EVENT)
        expect(event.id).toMatch(/^evt_\w{8}$/)
        expect(event.venue_id).toMatch(/^ven_\w{8}$/)
        expect(event.status).toBe(STATUSES[kind])
        expect(event.title).toMatch(/^[\w ]+$/)
        expect(event.slug).toMatch(/^[a-z-]+-\w{8}$/)
        expect(new URL(event.url).pathname).toBe(`/e/${event.slug}`)
        expect(new URL(event.image_url).protocol).toBe('https:')
        expect(event.description_md).toContain(event.title)
        expect(event.refund_policy).toBe('refundable_24h')
        expect(event.transferable).toBe(true)
        for (const amount of [event.capacity, event.sold, event.gross_cents]) {
          expect(Number.isSafeInteger(amount) && amount >= 0).toBe(true)
        }
        expect(event.capacity).toBeGreaterThan(event.sold)
        expect(event.sold === 0 ? event.gross_cents : event.gross_cents % event.sold).toBe(0)
        expect(event.gross_cents > 0).toBe(event.sold > 0)
      }),
      RUNS,
    )
  })

  test('of the event.* kinds has dates in their order: made, changed, doors, and an end four hours later', () => {
    fc.assert(
      fc.property(requests, fc.constantFrom(...LIFECYCLE_KINDS), (request, kind) => {
        const { event, previous_attributes } = ticketedEventOf(kind, request)
        expectShow(event)
        expect(event.created_at).toMatch(UTC)
        expect(event.updated_at).toBe(sampleEvent(kind, request as object).created_at)
        expect(Date.parse(event.created_at)).toBe(Date.parse(event.updated_at) - 3 * DAY_MS)
        expect(event.doors_at).toMatch(/T19:30:00\+02:00$/)
        expect(Date.parse(event.doors_at) - Date.parse(event.updated_at)).toBeGreaterThan(13 * DAY_MS)

        expect(previous_attributes !== undefined).toBe(kind === 'event.rescheduled')
        if (previous_attributes === undefined) return
        expect(Object.keys(previous_attributes)).toEqual(['doors_at', 'ends_at'])
        expectShow(previous_attributes)
        expect(Date.parse(event.doors_at) - Date.parse(previous_attributes.doors_at)).toBe(7 * DAY_MS)
      }),
      RUNS,
    )
  })
})

test('every seed has an event of its own, the extremes included', () => {
  const orders = SEEDS.map((seed) => sampleEvent('order.created', { seed }).data)
  expect(new Set(orders.map(({ order }) => order.id)).size).toBe(SEEDS.length)
  const ticketIds = orders.flatMap(({ tickets }) => tickets.map(({ id }) => id))
  expect(new Set(ticketIds).size).toBe(ticketIds.length)
  const events = SEEDS.map((seed) => ticketedEventOf('event.published', { seed }).event.id)
  expect(new Set(events).size).toBe(SEEDS.length)
})

describe('without a seed', () => {
  test('each call gives another event, also of one kind and at one time', () => {
    const ids = Array.from({ length: 1000 }, () => sampleEvent('order.created', { at: 0 }).data.order.id)
    expect(new Set(ids).size).toBe(1000)
  })

  test('two processes give different events, and the same ones of a seed', {
    tags: ['slow'],
  }, () => {
    const { outputFiles } = buildSync({
      entryPoints: [join(ROOT, 'test/support/sample-child.ts')],
      tsconfig: join(ROOT, 'tsconfig.json'),
      bundle: true,
      platform: 'node',
      format: 'esm',
      write: false,
    })
    const [one, other] = [1, 2].map(() => {
      const input = outputFiles[0]?.text ?? ''
      const output = execFileSync(process.execPath, ['--input-type=module', '-'], {
        input,
        encoding: 'utf8',
        cwd: ROOT,
      })
      return JSON.parse(output) as { counted: unknown[]; seeded: unknown[] }
    })
    // Also a kind without a sample, whose data is the user's.
    const keys = [one, other].flatMap((events) => events?.counted.map((event) => JSON.stringify(event)) ?? [])
    expect(new Set(keys).size).toBe(6)
    const seeded = [0, 7, MAX_SEED].map((seed) => sampleEvent('event.cancelled', { seed }))
    expect([one?.seeded, other?.seeded]).toEqual([seeded, seeded])
  })
})

describe('created_at', () => {
  const createdAt = (options: object) => sampleEvent('order.created', options).created_at

  test.each([
    ['a Date', new Date(Date.UTC(2027, 0, 2, 3, 4, 5)), '2027-01-02T03:04:05Z'],
    ['milliseconds', Date.UTC(2027, 0, 2, 3, 4, 5, 6), '2027-01-02T03:04:05.006Z'],
    ['a time in another zone', '2027-01-02T03:04:05+01:30', '2027-01-02T01:34:05Z'],
  ])('is at: %s', (_what, at, expected) => {
    expect(createdAt({ at })).toBe(expected)
    expect(createdAt({ at, now: () => 5, seed: 9 })).toBe(expected)
  })

  test('is the time of now where there is no at', () => {
    expect(createdAt({ now: () => 1000 })).toBe('1970-01-01T00:00:01Z')
    expect(createdAt({ now: () => 1000.7, seed: 3 })).toBe('1970-01-01T00:00:01Z')
  })

  test('is a time of the seed where there is neither', () => {
    expect(createdAt({ seed: 0 })).toBe('2026-05-17T14:02:11Z')
    expect(createdAt({ seed: 1 })).toBe('2026-05-17T14:03:11Z')
    expect(createdAt({ seed: 9_999 })).toBe('2026-05-24T12:41:11Z')
    expect(createdAt({ seed: MAX_SEED })).toBe(createdAt({ seed: MAX_SEED % 10_000 }))
  })
})

const FIELDS_OF_AN_EVENT = [
  ...['capacity', 'created_at', 'description_md', 'doors_at', 'ends_at', 'gross_cents', 'id', 'image_url'],
  ...['refund_policy', 'slug', 'sold', 'status', 'title', 'transferable', 'updated_at', 'url', 'venue_id'],
]
