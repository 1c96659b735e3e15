import type { Envelope, EventKind, EventOf, Secrets, SignatureOptions } from '../../src/index.js'
import {
  checkedClock,
  checkOptionNames,
  describeType,
  signatureScheme,
  signedHeaders,
  systemClock,
  toUnit,
} from '../../src/internal.js'
import { toEpochMs } from './dates.js'
import {
  type AnyOptions,
  type AsJson,
  type ExactOptions,
  makeEvent,
  SAMPLE_OPTION_NAMES,
  type SampleOptions,
  type Undocumented,
} from './sample-event.js'
import { type TestDelivery, testDelivery } from './test-delivery.js'

/** How to sign a test delivery. */
export interface SigningOptions {
  /** The secret of the endpoint. A list makes one signature with each, as during a rotation. */
  secret: Secrets
  /** The value of `t`, in the unit of `signature.timestampUnit`. Default: the time of `now`. */
  timestamp?: number | undefined
  /** How the service signs: the same option as the receiver's. */
  signature?: SignatureOptions | undefined
  /** Milliseconds since the epoch: the `now` of a test clock. Default `Date.now`. */
  now?: (() => number) | undefined
}

/** A delivery with a valid signature. */
export interface SignedBody<Body extends string | Uint8Array = string> extends TestDelivery<Body> {
  /** The value of the signature header. */
  readonly header: string
  /** The same body with a new signature, as the service signs a retry. Default: at the time of the first `now`. */
  signAgain(again?: Pick<SigningOptions, 'timestamp' | 'now'>): Promise<this>
}

/** A delivery with a valid signature, and the event in it. */
export interface SignedDelivery<Event = Envelope<string, unknown>> extends SignedBody {
  /** The event that the receiver will read in `body`. */
  readonly event: Event
}

const SIGNING_OPTION_NAMES: readonly (keyof SigningOptions)[] = ['secret', 'timestamp', 'signature', 'now']
const DELIVERY_OPTION_NAMES: readonly string[] = [
  ...new Set([...SIGNING_OPTION_NAMES, ...SAMPLE_OPTION_NAMES]),
]
const RESIGNING_OPTION_NAMES: readonly (keyof SigningOptions)[] = ['timestamp', 'now']

/** Signs an event of any kind, with data of your own. */
export function signedDelivery<Kind extends string, Data extends object>(
  kind: Kind,
  options: ExactOptions<Data> & SigningOptions & { exact: true },
): Promise<SignedDelivery<Envelope<Kind, AsJson<Data>>>>
/** Signs an event of any kind, with data of your own. */
export function signedDelivery<Kind extends string, Data extends object>(
  kind: Kind & Undocumented<Kind>,
  options: ExactOptions<Data> & SigningOptions,
): Promise<SignedDelivery<Envelope<Kind, AsJson<Data>>>>
/**
 * Makes a delivery and signs it as the service does: a realistic sample event with your overrides, ready for every client.
 *
 * @param kind a documented kind; or any other, which has no sample and needs `data`
 * @throws TypeError that names the field or the option that is wrong
 * @example
 * ```ts
 * import { tixWebhooks } from 'tix-webhooks/fetch'
 * import { signedDelivery } from 'tix-webhooks/testing'
 *
 * const secret = 'whsec_test'
 * const POST = tixWebhooks({ secret, on: { 'order.created': async (event) => handleOrder(event) } })
 *
 * const delivery = await signedDelivery('order.created', { secret, data: { order: { total_cents: 0 } } })
 * const { status } = await POST(delivery.toRequest('/hooks'))
 * console.assert(status === 200)
 * ```
 */
export function signedDelivery<Kind extends EventKind>(
  kind: Kind,
  options: SampleOptions<Kind> & SigningOptions,
): Promise<SignedDelivery<EventOf<Kind>>>
export async function signedDelivery(
  kind: string,
  options: AnyOptions & SigningOptions,
): Promise<SignedDelivery> {
  options = checkOptionNames(options, DELIVERY_OPTION_NAMES)
  const event = makeEvent(kind, options)
  return signed({ event, body: JSON.stringify(event) }, options)
}

/**
 * Signs a body of your own: bytes that are not an event, or an event with fields beside `data`.
 *
 * @param body a string, which is sent in UTF-8, or bytes
 * @throws TypeError that names the option that is wrong
 * @example
 * ```ts
 * import { sampleEvent, signedBody } from 'tix-webhooks/testing'
 *
 * const event = { ...sampleEvent('order.created'), id: 'evt_1' }
 * const delivery = await signedBody(JSON.stringify(event), { secret: 'whsec_test' })
 * console.assert(delivery.header.startsWith('t='))
 * ```
 */
export async function signedBody<Body extends string | Uint8Array>(
  body: Body,
  options: SigningOptions,
): Promise<SignedBody<Body>> {
  options = checkOptionNames(options, SIGNING_OPTION_NAMES)
  if (typeof body !== 'string' && !(body instanceof Uint8Array)) {
    throw new TypeError(
      `body must be a string or a Uint8Array, not ${describeType(body)}: JSON.stringify an event yourself, so that its bytes are known.`,
    )
  }
  return signed({ body }, options)
}

/** Adds the signature, and the forms for each client. */
async function signed<Content extends { readonly body: string | Uint8Array }>(
  content: Content,
  { secret, timestamp, signature, now }: SigningOptions,
): Promise<Content & SignedBody<Content['body']>> {
  const scheme = signatureScheme(signature)
  const clock = checkedClock(now, systemClock)
  const headers = await signedHeaders(content.body, {
    secret,
    timestamp:
      timestamp === undefined ? toUnit(toEpochMs('the value that now returned', clock()), scheme) : timestamp,
    ...(signature === undefined ? {} : { signature }),
  })
  const delivery = testDelivery<Content['body']>(content.body, headers, scheme.header)
  const signAgain = async (again: Pick<SigningOptions, 'timestamp' | 'now'> = {}) => {
    again = checkOptionNames(again, RESIGNING_OPTION_NAMES)
    return signed(content, { ...again, secret, ...(signature && { signature }), now: again.now ?? clock })
  }
  return { ...content, ...delivery, signAgain } as Content & SignedBody<Content['body']>
}
