import type { Arbitrary } from 'fast-check'
import type {
  AnyEvent,
  EventLifecycleEvent,
  HeaderValue,
  JsonValue,
  OrderCreatedEvent,
  Secret,
  SignatureOptions,
  UnknownEvent,
  WebhookEvent,
} from 'tix-webhooks'
import {
  anyEvents,
  envelopes,
  eventsOf,
  type HeaderOptions,
  hostileHeaders,
  knownEvents,
  lifecycleEvents,
  notEnvelopes,
  secrets,
  signatureHeaders,
  signatureOptions,
  unknownEvents,
} from 'tix-webhooks/testing/fast-check'
import { describe, expectTypeOf, test } from 'vitest'

describe('the events of an arbitrary', () => {
  test('are those of its kind', () => {
    expectTypeOf(eventsOf('order.created')).toEqualTypeOf<Arbitrary<OrderCreatedEvent>>()
    // @ts-expect-error no such kind
    eventsOf('order.creatd')
  })

  test('are those of its group', () => {
    expectTypeOf(lifecycleEvents()).toEqualTypeOf<Arbitrary<EventLifecycleEvent>>()
    expectTypeOf(knownEvents()).toEqualTypeOf<Arbitrary<WebhookEvent>>()
    expectTypeOf(unknownEvents()).toEqualTypeOf<Arbitrary<UnknownEvent>>()
    expectTypeOf(anyEvents()).toEqualTypeOf<Arbitrary<AnyEvent>>()
    expectTypeOf(envelopes()).toEqualTypeOf<Arbitrary<UnknownEvent>>()
    expectTypeOf(notEnvelopes()).toEqualTypeOf<Arbitrary<JsonValue>>()
  })
})

describe('the headers of an arbitrary', () => {
  test('are strings, or lists of them', () => {
    expectTypeOf(signatureHeaders()).toEqualTypeOf<Arbitrary<string | readonly string[]>>()
    expectTypeOf(signatureHeaders({ of: 't=1,v1=00' })).toEqualTypeOf<Arbitrary<string | readonly string[]>>()
    expectTypeOf(hostileHeaders()).toEqualTypeOf<Arbitrary<HeaderValue>>()
  })

  test('are strings alone where they can be sent', () => {
    expectTypeOf(signatureHeaders({ sendable: true })).toEqualTypeOf<Arbitrary<string>>()
    expectTypeOf(hostileHeaders({ of: 't=1,v1=00', sendable: true })).toEqualTypeOf<Arbitrary<string>>()
    const options: HeaderOptions = { sendable: true }
    expectTypeOf(hostileHeaders(options)).toEqualTypeOf<Arbitrary<HeaderValue>>()
    // @ts-expect-error no such option
    hostileHeaders({ sendible: true })
  })
})

test('what is signed with is what the options take', () => {
  expectTypeOf(secrets()).toEqualTypeOf<Arbitrary<Secret>>()
  expectTypeOf(signatureOptions()).toEqualTypeOf<Arbitrary<SignatureOptions>>()
})
