import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { memoryFailures, type WebhookOptions } from 'tix-webhooks'
import { tixWebhooks } from 'tix-webhooks/node'
import type { ScenarioName } from 'tix-webhooks/testing'
import { SECRET } from '../../../test/support/deliveries.js'
import { HONEST, type OwnEvent, ownReceiver, type Steps } from '../../../test/support/own-receiver.js'
import { TWO_TIMES } from '../../../test/support/testing/faulty-verifying.js'
import type { Consequence } from '../../cli/check/consequence.js'
import type { ProbeName } from '../../cli/check/plan.js'
import type { ProbeOptions } from '../../cli/check/probe.js'

/** A way to read a request; undefined: it is answered already. */
type Reading = (request: IncomingMessage, response: ServerResponse) => Promise<Buffer | undefined>

/** Scenarios that a receiver fails, and the start of the advice for each. */
export type Failures = Readonly<Partial<Record<ProbeName, string>>>

/** A receiver on `node:http` with one fault or none, and the verdicts of `check` about it. */
export interface CheckedReceiver {
  readonly does: string
  /** These scenarios fail, and no others. */
  readonly fails: Failures
  /** These get a warning, and no others. */
  readonly warns?: Failures
  /** The consequences of those that fail. Default: not looked at. */
  readonly consequences?: Readonly<Partial<Record<ProbeName, Consequence>>>
  /** Whether all probes are played. Default: those that it fails, and some of the others. */
  readonly playsAll?: true
  /** How often it is checked, with the same store: each time with the same result. Default once. */
  readonly checks?: number
  /** The fault, if answers cannot show it: the passed scenario whose note mentions it, and the start of that note. */
  readonly unseen?: Failures
  /** The number of scenarios tried. Default: all, or, with data of an order, all but `thin`. */
  readonly tried?: number
  readonly options?: Partial<ProbeOptions>
  listener(): RequestListener
}

export const FORGED: readonly ScenarioName[] = [
  'missing-header',
  'malformed-header',
  'tampered-byte',
  're-serialised-body',
  'wrong-secret',
  'stale',
  'future',
  'truncated',
  'other-endpoints-secret',
  'empty-body',
]

const FORGERY = 'It ACCEPTED A FORGERY. '
const REPLAY = 'It ACCEPTED A REPLAY'
const SERVER_ERROR = 'It answers 5xx, which makes the service retry for 72 hours: answer 4xx. '
const RAW_BYTES = 'Verify the raw bytes of the body'
const HANDLED_BEFORE = 'Answer 2xx to an event that was handled before'
const WHOLE_BODY = 'Read the whole body'
const NO_EVENTS =
  'It answers 2xx to null, an array, a string and 5 more. Answer 5xx to an authentic body that is not an event'
const UNKNOWN = 'Answer 2xx to kinds that you do not handle'
const LIKE_GENUINE = 'as to a genuine delivery: it accepts this as genuine, or fails before it verifies. '
const TWO_TIMES_READ = 'It accepts a header with two t. The signature is valid for the one that it reads'
const RAN_ONCE = 'Answers do not show how often your handler ran. Check that it handled ord_'

const KNOWN_ORDER = { order: { id: 'ord_known', total_cents: 0 }, tickets: [{ id: 'tik_1', tier: 'VIP' }] }

const all = (names: readonly ScenarioName[], advice: string): Failures =>
  Object.fromEntries(names.map((name) => [name, advice]))

const fail = (): never => {
  throw new Error('there is no such order')
}

/** A handler that looks up its order. */
const lookingUp = (status: number): Partial<Steps> => ({
  once: async (key, memory, run) => (key === 'ord_known' ? HONEST.once(key, memory, run) : status),
})

/** The hand-written receiver, over HTTP. */
export function byHand(steps: Partial<Steps> = {}, reading: Reading = readWhole): RequestListener {
  const receiver = ownReceiver(steps)
  return async (request, response) => {
    const body = await reading(request, response)
    if (body === undefined) return
    const toRequest = () =>
      new Request('http://localhost/hooks', { method: 'POST', body: new Uint8Array(body) })
    const headers = request.headers as Record<string, string>
    const { status } = await receiver.send({ headers, toRequest }).catch(() => ({ status: 500 }))
    response.writeHead(status).end()
  }
}

/** The common practice of 409 for duplicates. */
const conflicting: Partial<Steps> = {
  once: async (key, memory, run) => (memory.get(key) === 'done' ? 409 : HONEST.once(key, memory, run)),
}

/** A receiver that asks its store before it looks at the kind, and answers 409 to what is there. */
function conflictingOn(keyOf: Steps['keyOf']): Partial<Steps> {
  return {
    ...conflicting,
    keyOf,
    findHandler: (handlers, type) => HONEST.findHandler(handlers, type) ?? (async () => {}),
  }
}

const idOf = ({ data }: OwnEvent): string =>
  data.order?.id ?? (data.event as { id?: string } | undefined)?.id ?? ''

/** Takes the last `t` of several, as a receiver does that makes a map of the header. */
export const LAST_TIME_WINS: Partial<Steps> = {
  readHeader: (header = '') => {
    const items = header.split(',')
    const isTime = (item: string): boolean => item.startsWith('t=')
    const others = items.filter((item) => !isTime(item))
    return HONEST.readHeader([...items.filter(isTime).slice(-1), ...others].join(','))
  },
}

/** Marks an event as processed, and then handles it. */
function markingFirst(handle: (event: OwnEvent) => unknown): Partial<Steps> {
  return {
    handle: (event) => event.type === 'order.created' && handle(event),
    async once(key, memory, run) {
      if (memory.has(key)) return 200
      memory.set(key, 'done')
      await run()
      return 200
    },
  }
}

const ticketsOf = ({ data }: OwnEvent) => (data as { tickets?: readonly { id: string }[] }).tickets

/** Throws on its first order without tickets only. */
function failingOnce(): (event: OwnEvent) => void {
  let failed = false
  return (event) => {
    if (failed || ticketsOf(event) !== undefined) return
    failed = true
    fail()
  }
}

/** An event whose handler fails once is lost. */
export const LOST = markingFirst((event) => ticketsOf(event) ?? fail())

export const CHECKED_RECEIVERS: readonly CheckedReceiver[] = [
  correct('makes no mistake', {}),
  { ...correct('answers 202', { once: async () => 202, onUnknownKind: 202 }), playsAll: true },
  {
    does: 'looks its order up, and is given one that exists',
    fails: {},
    options: { data: KNOWN_ORDER },
    listener: () => byHand(lookingUp(404)),
  },

  unseen(
    'deduplicates nothing',
    { duplicate: RAN_ONCE, 'concurrent-burst': RAN_ONCE },
    {
      once: async (_key, _memory, run) => {
        await run()
        return 200
      },
    },
  ),
  unseen('reads bodies of any size', { large: 'Nothing larger was sent. Stop reading at a limit' }, {}),

  wrong(
    'looks its order up, and fails where there is none',
    {
      valid:
        'It answers 500 to a genuine delivery and 401 to a forgery, so it verifies, and its handler fails. If it looks the order up, give one that exists: --data @data.json. Apart from this, only probes',
    },
    lookingUp(500),
    15,
  ),
  wrong(
    'has no look at t, and a handler that fails',
    {
      valid: 'It answers 500',
      ...all(['stale', 'future'], `It answers 500, ${LIKE_GENUINE}Answer 401`),
    },
    { isFresh: () => true, handle: fail },
    15,
  ),
  {
    does: 'verifies nothing, and has a handler that fails',
    fails: {
      valid:
        'It answers 500 to a genuine delivery and to a forgery alike: it fails before it verifies, or does not verify.',
      ...all(FORGED, `It answers 500, ${LIKE_GENUINE}`),
    },
    tried: 11,
    listener: () => (request, response) =>
      void request.resume().on('end', () => response.writeHead(500).end()),
  },

  wrong(
    'parses before it verifies',
    { ...all(['tampered-byte', 'truncated', 'empty-body'], SERVER_ERROR) },
    { first: (body) => void JSON.parse(body.toString()) },
  ),
  wrong(
    'verifies what it has parsed and written again',
    {
      ...all(['whitespace', 'unicode'], RAW_BYTES),
      'tampered-byte': FORGERY + RAW_BYTES,
      're-serialised-body': FORGERY + RAW_BYTES,
      ...all(['truncated', 'empty-body'], SERVER_ERROR),
    },
    { signedContent: (t, body) => `${t}.${JSON.stringify(JSON.parse(body.toString()))}` },
  ),
  wrong(
    'has no look at t',
    {
      stale: `${REPLAY}. Answer 401 if it was signed more than five minutes ago`,
      future: 'It ACCEPTED A FUTURE REPLAY. Answer 401 if it was signed more than five minutes in the future',
    },
    { isFresh: () => true },
  ),
  wrong('answers 500 to kinds that it does not know', { 'unknown-kind': UNKNOWN }, { onUnknownKind: 500 }),
  {
    does: 'takes the last t, and has a handler that fails',
    fails: { valid: 'It answers 500 to a genuine delivery and 401 to a forgery' },
    warns: { 'malformed-header': TWO_TIMES_READ },
    tried: 15,
    listener: () => byHand({ ...LAST_TIME_WINS, handle: fail }),
  },
  {
    does: 'verifies the first t, and judges the age by the last',
    fails: { 'malformed-header': 'It ACCEPTED A MALFORMED HEADER' },
    consequences: { 'malformed-header': 'accepts_replays' },
    playsAll: true,
    listener: () => byHand(TWO_TIMES),
  },
  wrong(
    'answers 200 to what it cannot read',
    {
      'not-json': 'Answer 5xx to an authentic body that you cannot read',
      'not-an-envelope': NO_EVENTS,
    },
    { onBadPayload: 200 },
  ),
  {
    does: 'takes a list for an event of another kind',
    fails: { 'not-an-envelope': 'It answers 2xx to an array. Answer 5xx to' },
    consequences: { 'not-an-envelope': 'loses_events' },
    playsAll: true,
    listener: () => byHand({ isEvent: (value) => Array.isArray(value) || HONEST.isEvent(value) }),
  },
  wrong(
    'refuses fields that it does not know',
    { 'extra-fields': 'Ignore unknown fields', large: 'Raise the limit' },
    { isEvent: (value) => HONEST.isEvent(value) && Object.keys(value as object).length === 3 },
  ),
  wrong(
    'relies on a title',
    { thin: 'The payload of event.* is undocumented' },
    {
      handle: ({ type, data }: OwnEvent) => type === 'event.published' && data.event?.title.toUpperCase(),
    },
  ),
  wrong(
    'takes the first v1 alone',
    { 'two-v1': 'Accept a delivery if any v1 matches' },
    {
      readHeader: (header) => {
        const parts = HONEST.readHeader(header)
        return typeof parts === 'object' ? { ...parts, signatures: parts.signatures.slice(0, 1) } : parts
      },
    },
  ),
  wrong(
    'marks an event before it handles it',
    { 'retried-failure': 'It answers 500 and then 200 to the same event: it marks an event before' },
    LOST,
  ),
  correct(
    'marks an event before it handles it, and fails once for another reason',
    markingFirst(failingOnce()),
  ),
  {
    does: 'answers 409 to a duplicate, by its id, in a store that stays',
    fails: { duplicate: HANDLED_BEFORE },
    consequences: { duplicate: 'retries_in_vain' },
    checks: 2,
    playsAll: true,
    listener: () => byHand(conflictingOn(idOf)),
  },
  {
    does: 'tells events apart by their date alone, and answers 409 to a duplicate',
    fails: {
      reordered: 'Deliveries arrive',
      tied: 'Two events can have the same',
      duplicate: HANDLED_BEFORE,
    },
    consequences: { reordered: 'loses_events', tied: 'loses_events', duplicate: 'retries_in_vain' },
    playsAll: true,
    listener: () => byHand({ ...conflicting, keyOf: ({ created_at }) => created_at }),
  },
  wrong(
    'falls over when many come at once',
    { 'concurrent-burst': 'Record an event before you handle it' },
    {
      async once(key, memory, run) {
        if (memory.get(key) === 'running') throw new Error('deadlock')
        return HONEST.once(key, memory, async () => {
          await new Promise((resolve) => setTimeout(resolve, 25))
          await run()
        })
      },
    },
  ),
  {
    ...read(
      'decodes each crumb by itself',
      all(['chunked', 'tiny-chunks', 'slow-body'], WHOLE_BODY),
      async (request) => {
        let text = ''
        for await (const chunk of request) text += chunk
        return Buffer.from(text)
      },
    ),
    consequences: { chunked: 'loses_events', 'tiny-chunks': 'loses_events', 'slow-body': 'loses_events' },
    playsAll: true,
  },
  read(
    'has a limit of 100 KiB',
    { large: 'Raise the limit of the body parser' },
    async (request, response) => {
      const body = await readWhole(request)
      if (body.length <= 100 * 1024) return body
      response.writeHead(413).end()
      return undefined
    },
  ),
  {
    does: 'verifies nothing',
    fails: {
      ...all(FORGED, FORGERY),
      'malformed-header': 'It ACCEPTED A MALFORMED HEADER. ',
      ...all(['stale', 'future'], 'It ACCEPTED A '),
      'not-json': 'Answer 5xx to an authentic body that you cannot read',
      'not-an-envelope': NO_EVENTS,
    },
    listener: () => (request, response) =>
      void request.resume().on('end', () => response.writeHead(204).end()),
  },
  {
    does: 'parks what fails, and looks its order up',
    fails: {
      valid:
        'It parks a genuine delivery, and answers 401 to a forgery, so it verifies, and its handler fails. If it looks the order up, give one that exists: --data @data.json. Apart from this, only probes',
    },
    unseen: { 'not-json': 'It parked this' },
    tried: 15,
    listener: () => parking({ attempts: 1 }, fail),
  },
  {
    does: 'redirects',
    fails: { valid: "Redirects are not followed: set the endpoint's URL to" },
    tried: 1,
    listener: () => (request, response) =>
      void request.resume().on('end', () => response.writeHead(308, { location: '/hooks/' }).end()),
  },
  {
    does: 'hangs',
    fails: { valid: 'It took over 0.3 s: hand long work to a queue' },
    tried: 1,
    options: { timeoutSeconds: 0.3 },
    listener: () => () => {},
  },
  {
    does: 'crashes on an order without tickets',
    fails: { 'retried-failure': 'It did not answer an order that lacks something (ECONNRESET)' },
    options: { only: ['valid', 'retried-failure'] },
    tried: 2,
    listener: () =>
      byHand({}, async (request) => {
        const body = await readWhole(request)
        if (!isJson(body) || ticketsOf(JSON.parse(String(body))) !== undefined) return body
        crash((request.socket as Socket & { server: Server }).server)
        return undefined
      }),
  },
  {
    does: 'crashes on bytes that are no JSON',
    fails: {
      'tampered-byte': 'closed the connection without a complete answer: did your receiver crash or restart?',
      're-serialised-body':
        'Nothing listens there any more: the receiver crashed, maybe by tampered-byte. Its log has the reason',
    },
    tried: 16,
    listener: () =>
      byHand({}, async (request) => {
        const body = await readWhole(request)
        if (isJson(body)) return body
        crash((request.socket as Socket & { server: Server }).server)
        return undefined
      }),
  },
]

/** A receiver of ours. */
function parking(parkAfter: WebhookOptions['parkAfter'], handler: () => void): RequestListener {
  const on = { 'order.created': handler, 'event.published': handler }
  return tixWebhooks({
    secret: SECRET,
    on,
    failures: memoryFailures(),
    namespace: 'orders',
    parkAfter,
    onUnhandled: () => {},
    onError: () => {},
  })
}

function correct(does: string, steps: Partial<Steps>): CheckedReceiver {
  return wrong(does, {}, steps)
}

function wrong(does: string, fails: Failures, steps: Partial<Steps>, tried?: number): CheckedReceiver {
  return { does, fails, listener: () => byHand(steps), ...(tried !== undefined && { tried }) }
}

function unseen(does: string, seen: Failures, steps: Partial<Steps>): CheckedReceiver {
  return { does, fails: {}, unseen: seen, listener: () => byHand(steps) }
}

function read(does: string, fails: Failures, reading: Reading): CheckedReceiver {
  return { does, fails, listener: () => byHand({}, reading) }
}

export async function readWhole(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks)
}

/** Ends as a process does: open connections are cut, and nothing listens any more. */
export function crash(server: Server): void {
  server.close()
  server.closeAllConnections()
}

function isJson(body: Buffer): boolean {
  try {
    JSON.parse(body.toString())
    return true
  } catch {
    return false
  }
}
