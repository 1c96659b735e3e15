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
const SEEDS = [...Array.from({ length: runs(2000) }, (_, seed) => seed), 2 ** 31 - 1, 2 ** 31, MAX_SEED]

const UTC = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?Z$/
const WITH_OFFSET = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?[+-]\d\d:\d\d$/
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

const STATUSES = {
  'event.published': 'on_sale',
  'event.cancelled': 'cancelled',
  'event.rescheduled': 'on_sale',
} as const
type LifecycleKind = keyof typeof STATUSES
const LIFECYCLE_KINDS = Object.keys(STATUSES) as LifecycleKind[]

const requests = fc.record({
  seed: fc.oneof(fc.nat(MAX_SEED), fc.nat(20_000), fc.constantFrom(0, MAX_SEED - 1, MAX_SEED)),
  at: fc.option(fc.integer({ min: 0, max: Date.UTC(9999, 0) - 1 }), { nil: undefined }),
})
const RUNS = { numRuns: runs(150) }

const ticketedEventOf = (kind: LifecycleKind, options: { seed: number; at?: number | undefined }) =>
  sampleEvent(kind, options as object).data as unknown as {
    event: SampleDataByKind['event.published']['event']
    previous_attributes?: PreviousDates
  }

/** The dates of a show by the specification. */
function expectShow({ doors_at, ends_at }: PreviousDates): void {
  expect(doors_at).toMatch(WITH_OFFSET)
  expect(ends_at).toMatch(WITH_OFFSET)
  expect(Date.parse(ends_at) - Date.parse(doors_at)).toBe(4 * HOUR_MS)
}

describe('whatever the seed and the time, a sample', () => {
  test.each(['order.created', ...LIFECYCLE_KINDS] as const)(
    'is an envelope that the receiver takes, of the time that was asked for: %s',
    async (kind) => {
      await fc.assert(
        fc.asyncProperty(requests, async ({ seed, at }) => {
          const event = sampleEvent(kind, at === undefined ? { seed } : { seed, at })
          expect(Object.keys(event)).toEqual(['type', 'created_at', 'data'])
          expect(event.type).toBe(kind)
          expect(event.created_at).toMatch(UTC)
          if (at !== undefined) expect(Date.parse(event.created_at)).toBe(at)
          expect(await parseEvent(JSON.stringify(event))).toEqual(event)
        }),
        RUNS,
      )
    },
  )

  test('of order.created has the ids, the cents and the tickets of the specification', () => {
    fc.assert(
      fc.property(requests, ({ seed }) => {
        const { order, tickets } = sampleEvent('order.created', { seed }).data
        expect(order).toEqual({
          id: expect.stringMatching(/^ord_\w{8}$/),
          total_cents: expect.any(Number),
          buyer_email: expect.stringMatching(/^[\w.]+@example\.com$/),
        })
        expect(tickets.length).toBeGreaterThan(0)
        expect(Number.isSafeInteger(order.total_cents / tickets.length)).toBe(true)
        expect(order.total_cents).toBeGreaterThan(0)
        const tier = tickets[0]?.tier
        expect(tier).toMatch(/^\w[\w ]+$/)
        for (const ticket of tickets)
          expect(ticket).toEqual({ id: expect.stringMatching(/^tik_\w{9}$/), tier })
        expect(new Set(tickets.map(({ id }) => id)).size).toBe(tickets.length)
      }),
      RUNS,
    )
  })

  test('of the event.* kinds has the event object of the specification, with dates in their order', () => {
    fc.assert(
      fc.property(requests, fc.constantFrom(...LIFECYCLE_KINDS), (request, kind) => {
        const { event, previous_attributes: previous } = ticketedEventOf(kind, request)
        const amount = expect.toSatisfy((value) => Number.isSafeInteger(value) && value >= 0)
        expect(event).toEqual({
          id: expect.stringMatching(/^evt_\w{8}$/),
          venue_id: expect.stringMatching(/^ven_\w{8}$/),
          title: expect.stringMatching(/^[\w ]+$/),
          slug: expect.stringMatching(/^[a-z-]+-\w{8}$/),
          url: expect.toSatisfy((url) => new URL(url).pathname === `/e/${event.slug}`),
          image_url: expect.stringMatching(/^https:/),
          description_md: expect.stringContaining(event.title),
          status: STATUSES[kind],
          refund_policy: 'refundable_24h',
          transferable: true,
          ...{ capacity: amount, sold: amount, gross_cents: amount },
          created_at: expect.stringMatching(UTC),
          updated_at: sampleEvent(kind, request as object).created_at,
          doors_at: expect.stringMatching(/T19:30:00\+02:00$/),
          ends_at: expect.any(String),
        })
        expect(event.capacity).toBeGreaterThan(event.sold)
        expect(event.sold === 0 ? event.gross_cents : event.gross_cents % event.sold).toBe(0)
        expect(event.gross_cents > 0).toBe(event.sold > 0)

        expectShow(event)
        expect(Date.parse(event.created_at)).toBe(Date.parse(event.updated_at) - 3 * DAY_MS)
        expect(Date.parse(event.doors_at) - Date.parse(event.updated_at)).toBeGreaterThan(13 * DAY_MS)
        expect(previous !== undefined).toBe(kind === 'event.rescheduled')
        if (previous === undefined) return
        expect(Object.keys(previous)).toEqual(['doors_at', 'ends_at'])
        expectShow(previous)
        expect(Date.parse(event.doors_at) - Date.parse(previous.doors_at)).toBe(7 * DAY_MS)
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

test('without a seed each call gives another event, and so do two processes, which agree on those of a seed', {
  tags: ['slow'],
}, () => {
  const ids = Array.from({ length: 1000 }, () => sampleEvent('order.created', { at: 0 }).data.order.id)
  expect(new Set(ids).size).toBe(1000)

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
    const output = execFileSync(process.execPath, ['--input-type=module', '-'], { input, cwd: ROOT })
    return JSON.parse(String(output)) as { counted: unknown[]; seeded: unknown[] }
  })
  // Also a kind without a sample, whose data is the user's.
  const keys = [one, other].flatMap((events) => events?.counted.map((event) => JSON.stringify(event)) ?? [])
  expect(new Set(keys).size).toBe(6)
  const seeded = [0, 7, MAX_SEED].map((seed) => sampleEvent('event.cancelled', { seed }))
  expect([one?.seeded, other?.seeded]).toEqual([seeded, seeded])
})

test.each<[object, string]>([
  [{ at: new Date(Date.UTC(2027, 0, 2, 3, 4, 5)), now: () => 5, seed: 9 }, '2027-01-02T03:04:05Z'],
  [{ at: Date.UTC(2027, 0, 2, 3, 4, 5, 6) }, '2027-01-02T03:04:05.006Z'],
  [{ at: '2027-01-02T03:04:05+01:30' }, '2027-01-02T01:34:05Z'],
  [{ now: () => 1000.7, seed: 3 }, '1970-01-01T00:00:01Z'],
  [{ seed: 0 }, '2026-05-17T14:02:11Z'],
  [{ seed: MAX_SEED }, sampleEvent('order.created', { seed: MAX_SEED % 10_000 }).created_at],
])('created_at is of at, else of now, else of the seed: %o', (options, expected) => {
  expect(sampleEvent('order.created', options).created_at).toBe(expected)
})
