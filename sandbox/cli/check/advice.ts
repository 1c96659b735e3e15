import type { ScenarioName } from 'tix-webhooks/testing'

const RAW_BYTES = 'Verify the raw bytes of the body, before anything parses, decodes or trims them.'
const WHOLE_BODY = 'Read the whole body, chunk by chunk, and collect bytes, not text.'

/** The advice for each scenario that a receiver fails. */
export const ADVICE: Readonly<Record<ScenarioName, string>> = {
  valid: 'Its log has the reason why a genuine delivery failed.',
  whitespace: RAW_BYTES,
  unicode: `${RAW_BYTES} If it fails after verifying, its database or log cannot store such text: is it UTF-8 throughout (utf8mb4 in MySQL)?`,
  'extra-fields': 'Ignore unknown fields: the service will add some.',
  thin: 'The payload of event.* is undocumented: rely only on data.event.id, and read the rest from the API.',
  large: 'Raise the limit of the body parser, and of the proxy in front of it, to 1 MiB.',
  'two-v1': 'Accept a delivery if any v1 matches: during a rotation there are two.',
  reordered:
    'Deliveries arrive in any order: accept the older one too, and compare created_at in your handler.',
  tied: 'Two events can have the same created_at: deduplicate by the order, or by the whole content of the event.',
  chunked: WHOLE_BODY,
  'tiny-chunks': WHOLE_BODY,
  'slow-body': WHOLE_BODY,
  'missing-header': 'Answer 400 if there is no signature, before you look at the body.',
  'malformed-header':
    'Parse the header strictly: exactly one t of decimal digits and at least one v1; answer 400 to anything else.',
  'tampered-byte': RAW_BYTES,
  're-serialised-body': RAW_BYTES,
  'wrong-secret':
    'Compare the whole HMAC with yours, in constant time, before you look at the kind; answer 401.',
  stale: 'Answer 401 if it was signed more than five minutes ago: compare t, in seconds, with your clock.',
  future:
    'Answer 401 if it was signed more than five minutes in the future, because it could be replayed until then: compare t with your clock in both directions.',
  truncated: 'Compare only signatures of equal length, verify before you parse, and answer 401 otherwise.',
  'other-endpoints-secret': 'Compare the HMAC with that of the secret of this endpoint; answer 401.',
  'empty-body': 'Verify an empty body like any other: it is not a ping.',
  'not-json':
    'Answer 5xx to an authentic body that you cannot read: the service retries for 72 hours, so you can still fix it.',
  'not-an-envelope': 'Answer 5xx to an authentic body that is not an event: a 2xx means that it was handled.',
  duplicate: 'Answer 2xx to an event that was handled before: the service retries until you do.',
  'concurrent-burst':
    'Record an event before you handle it, in one atomic step, and answer 2xx or 503 to copies that arrive meanwhile.',
  'unknown-kind':
    'Answer 2xx to kinds that you do not handle: otherwise the service retries each for 72 hours.',
}

/** The name of the fault, for scenarios whose signature may be genuine: a replay, a malformed header. */
export const ACCEPTED: { readonly [Name in ScenarioName]?: string } = {
  stale: 'It ACCEPTED A REPLAY.',
  future: 'It ACCEPTED A FUTURE REPLAY.',
  'malformed-header': 'It ACCEPTED A MALFORMED HEADER.',
}

/** The limits of a scenario that passed: a fault that its answers do not show. */
export const LIMITS_OF_A_PASS: { readonly [Name in ScenarioName]?: (id: string) => string } = {
  valid: () =>
    'Answers do not show whether the work was done before the 2xx. If it fails later, the event is lost.',
  large: () =>
    'Nothing larger was sent. Stop reading at a limit such as 1 MiB: anyone can send an endless body.',
  'tiny-chunks': () =>
    'Answers do not show whether it keeps each chunk, which takes about 200 bytes per chunk: copy them into a growing buffer.',
  'wrong-secret': () => 'Answers do not show whether signatures are compared in constant time.',
  duplicate: ranOnce,
  'concurrent-burst': ranOnce,
}

function ranOnce(id: string): string {
  return `Answers do not show how often your handler ran. Check that it handled ${id} once.`
}
