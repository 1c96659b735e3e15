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
import type { BodyRule } from '../body.js'
import type { ErrorCode } from '../errors.js'
import { listOf, presentList } from '../list-form.js'
import { readQuery } from '../query.js'

/** The input of an operation, after authentication. */
interface OperationInput {
  /** The id in the path, if there is one. */
  readonly id: string
  readonly query: URLSearchParams
  /** undefined if there is none. */
  readonly body: unknown
}

/** The groups of operations. */
export const TAGS = {
  events: 'Shows, with their ticket tiers',
  venues: 'Places of events',
  orders: 'Sales that are faked, with a test key',
} as const

/** One operation of the API: its route and its description are made from it. */
export interface Operation {
  readonly id: string
  readonly method: 'get' | 'post' | 'patch'
  /** The path in OpenAPI form: `/v2/events/{id}`. */
  readonly path: string
  readonly tag: keyof typeof TAGS
  readonly summary: string
  readonly description: string
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

/** Every operation of the API. */
export const OPERATIONS: readonly Operation[] = [
  {
    id: 'createEvent',
    method: 'post',
    path: '/v2/events',
    tag: 'events',
    summary: 'Create an event, which is a draft',
    description:
      'A draft is not sold until it is published. Its venue is an existing one, or is created with it. The answer has the ids of the ticket tiers, which an order needs.',
    body: { schema: createEventBody, required: true, image: true },
    status: 201,
    answer: createdEvent,
    isShown: true,
    errors: [...BAD_EVENT, 'parameter_conflict', 'sandbox_full'],
    run: (account, { body }) => account.createEvent(body),
  },
  {
    id: 'listEvents',
    method: 'get',
    path: '/v2/events',
    tag: 'events',
    summary: 'List events, the newest first',
    description:
      'A page of the events that the key sees, filtered by status, venue or a range of dates if given.',
    query: listEventsQuery,
    status: 200,
    answer: listOf(eventObject),
    isShown: false,
    errors: BAD_PAGE,
    run: (account, { query }) => presentList(account.listEvents(readQuery(query)), '/v2/events'),
  },
  {
    id: 'retrieveEvent',
    method: 'get',
    path: '/v2/events/{id}',
    tag: 'events',
    summary: 'Retrieve an event',
    description: 'An event that the key sees, with what has been sold of it.',
    status: 200,
    answer: eventObject,
    isShown: true,
    errors: [],
    run: (account, { id }) => account.retrieveEvent(id),
  },
  {
    id: 'updateEvent',
    method: 'patch',
    path: '/v2/events/{id}',
    tag: 'events',
    summary: 'Update an event',
    description:
      'Changes the fields that are given, and no others. The date, the venue and the go-live of a draft alone: reschedule any other event.',
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
    tag: 'events',
    summary: 'Flip a draft to on_sale',
    description: 'From now on tickets can be bought.',
    body: { schema: emptyBody, required: false },
    status: 200,
    answer: eventObject,
    isShown: false,
    errors: ['parameter_unknown', 'event_already_published', 'event_past', 'event_ended', 'event_cancelled'],
    run: (account, { id, body }) => account.publishEvent(id, body),
  },
  {
    id: 'cancelEvent',
    method: 'post',
    path: '/v2/events/{id}/cancel',
    tag: 'events',
    summary: 'Cancel an event and refund everyone',
    description: 'Ends the sale, and refunds each order in full.',
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
    tag: 'events',
    summary: 'Change the date of an event',
    description: 'Moves the doors, and the end with them unless another one is given.',
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
    tag: 'venues',
    summary: 'List venues, the newest first',
    description: 'A page of the venues that the key sees. A venue is created with an event.',
    query: listVenuesQuery,
    status: 200,
    answer: listOf(venueObject),
    isShown: false,
    errors: BAD_PAGE,
    run: (account, { query }) => presentList(account.listVenues(readQuery(query)), '/v2/venues'),
  },
  {
    id: 'createOrder',
    method: 'post',
    path: '/v2/sandbox/orders',
    tag: 'orders',
    summary: 'Fake an order, with a test key',
    description: 'Sells tickets of an event that is on sale: no buyer, no payment and no mail are real.',
    body: { schema: createOrderBody, required: true },
    status: 201,
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
