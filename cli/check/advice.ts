import type { ScenarioName } from '../../testing/index.js'

const RAW_BYTES = 'Verify the raw bytes of the body, before anything parses, decodes or trims them.'
const WHOLE_BODY = 'Read the body to its end, by chunks if need be, and collect bytes rather than text.'

/** What to do where a receiver fails a scenario. */
export const ADVICE: Readonly<Record<ScenarioName, string>> = {
  valid: 'Its log says what went wrong with a genuine delivery.',
  whitespace: RAW_BYTES,
  unicode: `${RAW_BYTES} If it fails later, its database or its log cannot keep such text: is it UTF-8 throughout (utf8mb4 in MySQL)?`,
  'extra-fields': 'Ignore fields that you do not know: the service will add some.',
  thin: 'The payload of event.* is not documented: rely on data.event.id alone, and read the rest through the API.',
  large: 'Raise the limit of the body parser, and of the proxy before it, to 1 MiB.',
  'two-v1': 'Take a delivery when any of its v1 matches: while a secret is rotated there are two.',
  reordered:
    'Deliveries come in any order: accept the older one too, and let your handler compare created_at.',
  chunked: WHOLE_BODY,
  'slow-body': WHOLE_BODY,
  'missing-header': 'Refuse with 400 what has no signature, before you look at the body.',
  'malformed-header':
    'Take the header apart strictly: exactly one t of decimal digits, and at least one v1; refuse all else with 400.',
  'tampered-byte': RAW_BYTES,
  're-serialised-body': RAW_BYTES,
  'wrong-secret':
    'Compare the whole HMAC with that of your secret, in constant time, before you look at the kind; answer 401.',
  stale:
    'Refuse with 401 what was signed more than five minutes ago: compare t, in seconds, with your clock.',
  future:
    'Refuse with 401 what was signed more than five minutes ahead, since it can be replayed until long after that: compare t with your clock in both directions.',
  truncated:
    'Compare signatures of equal length alone, verify before you parse, and answer 401 in every other case.',
  'other-endpoints-secret': 'Compare the HMAC with that of the secret of this very endpoint; answer 401.',
  'empty-body': 'Verify a body of no bytes like any other: it is no ping.',
  'not-json':
    'Answer 5xx to what is authentic and cannot be read: the service keeps it for 72 hours, in which it can be mended.',
  'not-an-envelope': 'Answer 5xx to an authentic body without type or data: a 2xx says that it was handled.',
  duplicate: 'Answer 2xx to what was handled before: the service sends it again until you do.',
  'concurrent-burst':
    'Take note of an event before you handle it, in one atomic step, and answer 2xx or 503 to those that come meanwhile.',
  'unknown-kind':
    'Answer 2xx to kinds that you do not handle: else the service sends each of them for 72 hours.',
}

/** What a 2xx to what must be refused is called: the signature of a replay is genuine, and so may that in a malformed header be. */
export const ACCEPTED: { readonly [Name in ScenarioName]?: string } = {
  stale: 'It ACCEPTED A REPLAY.',
  future: 'It ACCEPTED A REPLAY to come.',
  'malformed-header': 'It ACCEPTED A MALFORMED HEADER.',
}

/** What the answers to a scenario do not show, though it passed. */
export const NOT_SHOWN: { readonly [Name in ScenarioName]?: (id: string) => string } = {
  valid: () =>
    'Answers do not show whether the work was done before the 2xx. If it fails after it, the event is lost.',
  large: () =>
    'Nothing larger was sent. Stop reading at a limit, such as 1 MiB: anybody can send a body without end.',
  'wrong-secret': () => 'Answers do not show whether signatures are compared in constant time.',
  duplicate: ranOnce,
  'concurrent-burst': ranOnce,
}

function ranOnce(id: string): string {
  return `Answers do not show how often your handler ran. Check that it handled ${id} once.`
}
