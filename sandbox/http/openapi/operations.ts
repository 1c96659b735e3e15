import type * as z from 'zod'
import type { Account } from '../../domain/account.js'
import {
  createEventBody,
  createOrderBody,
  emptyBody,
  listEventsQuery,
  listVenuesQuery,
  rescheduleEventBody,
  updateEventBody,
} from '../../domain/requests/requests.js'
import { createdEvent, eventObject, orderResult, venueObject } from '../../domain/resources.js'
import type { Assumptions } from '../../service/assumptions.js'
import type { BodyRule } from '../body.js'
import type { ErrorCode } from '../errors.js'
import { LIST_FORMS } from '../list-form.js'
import { readQuery } from '../query.js'

/** The input of an operation, after authentication. */
interface OperationInput {
  /** The id in the path, if there is one. */
  readonly id: string
  readonly query: URLSearchParams
  /** undefined if there is none. */
  readonly body: unknown
  /** The base URL of the service, such as `http://127.0.0.1:4010`. */
  readonly baseUrl: string
}

/** One operation of the API: its route and its description are made from it. */
export interface Operation {
  readonly id: string
  readonly method: 'get' | 'post' | 'patch'
  /** The path in OpenAPI form: `/v2/events/{id}`. */
  readonly path: string
  readonly summary: string
  readonly query?: z.ZodObject
  readonly body?: BodyRule & { readonly schema: z.ZodType }
  readonly status: 200 | 201
  readonly answer: z.ZodType
  /** Whether the specification shows the answer. */
  readonly isShown: boolean
  /** The errors of this operation only: not those of every operation, or of an id in the path. `resource_missing` is about a parameter. */
  readonly errors: readonly ErrorCode[]
  /** Returns the body of the answer. @throws Refusal if the request is refused */
  run(account: Account, input: OperationInput): unknown
}

const BAD_FIELDS = ['parameter_missing', 'parameter_invalid', 'parameter_unknown'] as const
const BAD_PAGE = ['parameter_invalid', 'parameter_unknown', 'parameter_conflict', 'resource_missing'] as const
const BAD_EVENT = [
  ...BAD_FIELDS,
  'resource_missing',
  'title_contains_html',
  'ends_at_before_doors_at',
  'on_sale_after_end',
  'duplicate_tier_name',
  'image_upload_not_shown',
] as const

/** Every operation of the API (spec section 4), as the assumptions have it. */
export function operationsFor(assumptions: Assumptions): readonly Operation[] {
  const list = LIST_FORMS[assumptions.list]
  const created = assumptions['create-status'] === '201' ? 201 : 200
  const showsTiers = assumptions['tiers-on-get'] === 'yes'

  return [
    {
      id: 'createEvent',
      method: 'post',
      path: '/v2/events',
      summary: 'Create an event, which is a draft',
      body: { schema: createEventBody, required: true, image: true },
      status: created,
      answer: createdEvent,
      isShown: true,
      errors: [...BAD_EVENT, 'parameter_conflict', 'sandbox_full'],
      run: (account, { body }) => account.createEvent(body),
    },
    {
      id: 'listEvents',
      method: 'get',
      path: '/v2/events',
      summary: 'List events, the newest first',
      query: listEventsQuery,
      status: 200,
      answer: list.schema(eventObject),
      isShown: false,
      errors: BAD_PAGE,
      run: (account, { query, baseUrl }) =>
        list.write(account.listEvents(readQuery(query)), { path: '/v2/events', query, baseUrl }),
    },
    {
      id: 'retrieveEvent',
      method: 'get',
      path: '/v2/events/{id}',
      summary: 'Retrieve an event',
      status: 200,
      answer: showsTiers ? createdEvent : eventObject,
      isShown: !showsTiers,
      errors: [],
      run: (account, { id }) => (showsTiers ? account.retrieveWithTickets(id) : account.retrieveEvent(id)),
    },
    {
      id: 'updateEvent',
      method: 'patch',
      path: '/v2/events/{id}',
      summary: 'Update an event',
      body: { schema: updateEventBody, required: true, image: true },
      status: 200,
      answer: eventObject,
      isShown: false,
      errors: [...BAD_EVENT, 'use_reschedule', 'event_already_published', 'event_cancelled', 'event_past'],
      run: (account, { id, body }) => account.updateEvent(id, body),
    },
    {
      id: 'publishEvent',
      method: 'post',
      path: '/v2/events/{id}/publish',
      summary: 'Flip a draft to on_sale',
      body: { schema: emptyBody, required: false },
      status: 200,
      answer: eventObject,
      isShown: false,
      errors: [
        'parameter_unknown',
        'event_already_published',
        'event_past',
        'event_ended',
        'event_cancelled',
      ],
      run: (account, { id, body }) => account.publishEvent(id, body),
    },
    {
      id: 'cancelEvent',
      method: 'post',
      path: '/v2/events/{id}/cancel',
      summary: 'Cancel an event and refund everyone',
      body: { schema: emptyBody, required: false },
      status: 200,
      answer: eventObject,
      isShown: false,
      errors: ['parameter_unknown', 'event_past', 'event_already_cancelled'],
      run: (account, { id, body }) => account.cancelEvent(id, body),
    },
    {
      id: 'rescheduleEvent',
      method: 'post',
      path: '/v2/events/{id}/reschedule',
      summary: 'Change the date of an event',
      body: { schema: rescheduleEventBody, required: true },
      status: 200,
      answer: eventObject,
      isShown: false,
      errors: [
        ...BAD_FIELDS,
        'ends_at_before_doors_at',
        'on_sale_after_end',
        'doors_at_unchanged',
        'doors_at_in_past',
        'event_past',
        'event_cancelled',
      ],
      run: (account, { id, body }) => account.rescheduleEvent(id, body),
    },
    {
      id: 'listVenues',
      method: 'get',
      path: '/v2/venues',
      summary: 'List venues, the newest first',
      query: listVenuesQuery,
      status: 200,
      answer: list.schema(venueObject),
      isShown: false,
      errors: BAD_PAGE,
      run: (account, { query, baseUrl }) =>
        list.write(account.listVenues(readQuery(query)), { path: '/v2/venues', query, baseUrl }),
    },
    {
      id: 'createOrder',
      method: 'post',
      path: '/v2/sandbox/orders',
      summary: 'Fake an order, with a test key',
      body: { schema: createOrderBody, required: true },
      status: created,
      answer: orderResult,
      isShown: true,
      errors: [
        ...BAD_FIELDS,
        'resource_missing',
        'test_key_required',
        'event_not_on_sale',
        'event_cancelled',
        'event_past',
        'event_sold_out',
        'tier_sold_out',
        'sandbox_full',
      ],
      run: (account, { body }) => account.createOrder(body),
    },
  ]
}
