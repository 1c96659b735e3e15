import type { ErrorCode } from '../../http/errors.js'
import { type ApiFixture, createWith } from './api-fixture.js'
import { type Answer, EVENT, LIVE_KEY } from './http-sandbox.js'

type Cause = (sandbox: ApiFixture) => Promise<Answer>

/** The cause of each API error: its code, its status, and the call that causes it. */
export const ERROR_CAUSES: readonly (readonly [code: ErrorCode, status: number, cause: Cause])[] = [
  ['parameter_missing', 400, (s) => createWith(s, { title: undefined })],
  ['parameter_invalid', 400, (s) => createWith(s, { title: 5 })],
  ['parameter_invalid', 400, (s) => s.call('GET', '/v2/events?limit=101')],
  ['parameter_invalid', 400, (s) => s.call('GET', '/v2/events?limit=5&limit=6')],
  ['parameter_unknown', 400, (s) => createWith(s, { currency: 'EUR' })],
  ['parameter_unknown', 400, (s) => s.call('GET', '/v2/venues?status=past')],
  ['parameter_unknown', 400, (s) => s.call('GET', '/v2/events?__proto__=1')],
  ['parameter_unknown', 400, (s) => s.call('GET', '/v2/events/evt_x?expand=venue')],
  ['parameter_unknown', 400, (s) => s.call('POST', '/v2/events?dry_run=1', { body: EVENT })],
  ['parameter_conflict', 400, (s) => createWith(s, { venue_id: 'ven_x' })],
  ['resource_missing', 404, (s) => s.call('GET', '/v2/events/evt_none')],
  ['resource_missing', 404, (s) => s.call('PATCH', '/v2/events/%00', { body: {} })],
  ['resource_missing', 404, (s) => s.call('GET', '/v2/events/%E0%A4%A')],
  ['resource_missing', 400, (s) => s.call('GET', '/v2/events?starting_after=evt_none')],
  ['resource_missing', 400, (s) => s.order({ changes: { event_id: 'evt_none' } })],
  ['resource_missing', 400, (s) => s.order({ changes: { ticket_tier_id: 'tkt_none' } })],
  ['title_contains_html', 400, (s) => createWith(s, { title: '<b>Night</b>' })],
  ['ends_at_before_doors_at', 400, (s) => createWith(s, { ends_at: EVENT.doors_at })],
  ['on_sale_after_end', 400, (s) => createWith(s, { on_sale_at: '2027-01-01T00:00:00Z' })],
  ['duplicate_tier_name', 400, (s) => createWith(s, { tickets: [EVENT.tickets[0], EVENT.tickets[0]] })],
  ['image_upload_not_shown', 400, (s) => createWith(s, { image: 'data:image/png;base64,AA' })],
  [
    'image_upload_not_shown',
    400,
    (s) =>
      s.call('POST', '/v2/events', {
        raw: '--x--',
        headers: { 'content-type': 'multipart/form-data; boundary=x' },
      }),
  ],
  [
    'use_reschedule',
    400,
    async (s) => {
      const { id } = await s.create()
      await s.act(id, 'publish')
      return s.call('PATCH', `/v2/events/${id}`, { body: { doors_at: '2026-12-02T19:00:00Z' } })
    },
  ],
  [
    'doors_at_unchanged',
    400,
    async (s) => s.act((await s.create()).id, 'reschedule', { doors_at: EVENT.doors_at }),
  ],
  [
    'doors_at_in_past',
    400,
    async (s) => s.act((await s.create()).id, 'reschedule', { doors_at: '2026-11-01T19:00:00Z' }),
  ],
  ['invalid_json', 400, (s) => s.call('POST', '/v2/events', { body: [EVENT] })],
  [
    'invalid_json',
    400,
    (s) => s.call('POST', '/v2/events', { raw: '{', headers: { 'content-type': 'application/json' } }),
  ],
  ['api_key_missing', 401, (s) => s.call('GET', '/v2/events', { key: null })],
  ['api_key_invalid', 401, (s) => s.call('GET', '/v2/events', { key: 'pk_1' })],
  ['test_key_required', 403, (s) => s.call('POST', '/v2/sandbox/orders', { key: LIVE_KEY, body: {} })],
  ['host_refused', 403, (s) => s.call('GET', '/v2/events', { headers: { host: 'evil.example' } })],
  ['unknown_url', 404, (s) => s.call('GET', '/v2/orders')],
  ['unknown_url', 404, (s) => s.call('GET', '/v2/events/')],
  ['unknown_url', 404, (s) => s.call('GET', '/v2')],
  ['method_not_allowed', 405, (s) => s.call('DELETE', '/v2/events/evt_x')],
  ['event_not_on_sale', 409, (s) => s.order({ publish: false })],
  ['event_cancelled', 409, (s) => s.order({ before: (id) => s.act(id, 'cancel') })],
  ['event_past', 409, (s) => s.order({ before: () => s.service.clock.advanceBy(30 * 86_400_000) })],
  [
    'event_already_published',
    409,
    async (s) => {
      const { id } = await s.create()
      await s.act(id, 'publish')
      return s.act(id, 'publish')
    },
  ],
  [
    'event_already_cancelled',
    409,
    async (s) => {
      const { id } = await s.create()
      await s.act(id, 'cancel')
      return s.act(id, 'cancel')
    },
  ],
  [
    'event_ended',
    409,
    async (s) => {
      const { id } = await s.create()
      await s.service.clock.advanceBy(30 * 86_400_000)
      return s.act(id, 'publish')
    },
  ],
  ['tier_sold_out', 409, (s) => s.order({ quantity: 3 })],
  [
    'event_sold_out',
    409,
    async (s) => {
      const event = await s.create({ tickets: [{ name: 'one', price_cents: 0, quantity: 1 }] })
      await s.act(event.id, 'publish')
      const body = { event_id: event.id, ticket_tier_id: event.tickets[0]?.id, quantity: 1 }
      await s.call('POST', '/v2/sandbox/orders', { body })
      return s.call('POST', '/v2/sandbox/orders', { body })
    },
  ],
  ['body_too_large', 413, (s) => createWith(s, { description_md: 'x'.repeat(1024 * 1024) })],
  [
    'unsupported_media_type',
    415,
    (s) => s.call('POST', '/v2/events', { raw: '{}', headers: { 'content-type': 'text/plain' } }),
  ],
  [
    'internal',
    500,
    (s) => {
      // A bug of our own, inside the domain.
      s.service.accounts.test.listVenues = () => {
        throw new Error('the secret cause')
      }
      return s.call('GET', '/v2/venues')
    },
  ],
]
