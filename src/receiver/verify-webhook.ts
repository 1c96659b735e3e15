import type { HandledEvent } from '../event/handlers.js'
import { checkData, checkSchemas, parseEnvelope } from '../event/payload.js'
import type { SchemaMap } from '../event/schema.js'
import { checkOptionNames } from '../lib/option-names.js'
import { isPromise, type MaybePromise } from '../lib/promises.js'
import type { HeaderValue } from '../signature/header.js'
import { bytesOf, VERIFY_OPTION_NAMES, type VerifyOptions, verifyBytes } from '../signature/signature.js'

export interface ParseOptions<Schemas extends SchemaMap<keyof Schemas> = Record<never, never>> {
  /** A Standard Schema by kind: it checks and types the data of that kind. */
  schemas?: Schemas | undefined
}

/**
 * Parses an event from a body that is already trusted: JSON, envelope, and the data of its kind.
 *
 * @param rawBody the bytes, or their string
 * @returns the event; an undocumented kind is not an error
 * @throws PayloadError when it is not JSON, not an envelope, or its data does not match: see `code` and `issues`
 * @throws TypeError when an option is invalid
 * @example
 * ```ts
 * const event = await parseEvent(rawBody)
 * if (isKind(event, 'order.created')) console.log(event.data.order.id)
 * ```
 */
export async function parseEvent<Schemas extends SchemaMap<keyof Schemas> = Record<never, never>>(
  rawBody: Uint8Array | string,
  options: ParseOptions<Schemas> = {},
): Promise<HandledEvent<Schemas>> {
  const { schemas = {} } = checkOptionNames(options, ['schemas'])
  checkSchemas(schemas)
  const event = await checkData(parseEnvelope(bytesOf(rawBody)), schemas)
  return event as HandledEvent<Schemas>
}

const OPTION_NAMES = [...VERIFY_OPTION_NAMES, 'schemas']

/**
 * Verifies a delivery and parses its event, in this order. It neither deduplicates nor answers: `createReceiver` does.
 *
 * @param rawBody the bytes as they were sent, or their string
 * @param header the value of the signature header
 * @throws WebhookVerificationError when the delivery is not authentic, or not fresh
 * @throws PayloadError when the authentic body is not an event
 * @throws TypeError when an option is invalid
 * @example
 * ```ts
 * const event = await verifyWebhook(rawBody, headers['x-service-signature'], { secret })
 * ```
 */
export async function verifyWebhook<Schemas extends SchemaMap<keyof Schemas> = Record<never, never>>(
  rawBody: Uint8Array | string,
  header: HeaderValue,
  options: VerifyOptions & ParseOptions<Schemas>,
): Promise<HandledEvent<Schemas>> {
  const given = checkOptionNames(options, OPTION_NAMES)
  const schemas: SchemaMap = given.schemas ?? {}
  checkSchemas(schemas)
  const bytes = bytesOf(rawBody)
  const verified = verifyBytes(bytes, header, given)
  if (isPromise(verified)) await verified
  return checkData(parseEnvelope(bytes), schemas) as MaybePromise<HandledEvent<Schemas>>
}
