import type { FailedDelivery } from '../../../src/index.js'
import { hexOf } from '../../sql/kept-text.js'
import { asciiJson, type Texts } from './texts.js'

/** An absent value is null. So is a limit of attempts or hours that is not set. */
export function parametersOf(failed: FailedDelivery, { write }: Texts): [details: string, body: string] {
  const { account, eventId, orderId, parkAfter = {} } = failed
  const ifAny = (text: string | undefined): string | null => (text === undefined ? null : write(text))
  const details = {
    key: failed.key,
    namespace: write(failed.namespace),
    account: ifAny(account),
    kind: write(failed.kind),
    event_id: ifAny(eventId),
    order_id: ifAny(orderId),
    signed_at: isoOf(failed.signedAt.getTime()),
    secret_index: failed.secretIndex,
    cause: write(failed.group),
    code: write(failed.code),
    message: write(failed.message),
    failed_at: isoOf(failed.failedAt.getTime()),
    replays: failed.isReplay ? 1 : 0,
    park_attempts: parkAfter.attempts,
    park_ms: parkAfter.ms,
  }
  return [asciiJson(details), hexOf(failed.rawBody)]
}

/** Within the years that Postgres reads: a clock that is wrong must lose no failure. */
export function isoOf(ms: number): string {
  return new Date(Math.min(Math.max(ms, FIRST_DATE), LAST_DATE)).toISOString()
}

const FIRST_DATE = Date.parse('0001-01-01T00:00:00Z')
const LAST_DATE = Date.parse('9999-12-31T23:59:59.999Z')
