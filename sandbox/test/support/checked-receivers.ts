import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { memoryFailures } from 'tix-webhooks'
import { tixWebhooks } from 'tix-webhooks/node'
import type { ScenarioName } from 'tix-webhooks/testing'
import { SECRET } from '../../../test/support/deliveries.js'
import { HONEST, type OwnEvent, ownReceiver, type Steps } from '../../../test/support/own-receiver.js'
import { TWO_TIMES } from '../../../test/support/testing/faulty-receivers.js'
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
  readonly fails?: Failures
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
  /** Its steps and its way to read, if it is written by hand. */
  readonly steps?: Partial<Steps>
  readonly reading?: Reading
  /** Default: the hand-written one. */
  readonly listener?: () => RequestListener
}

const FORGED: readonly ScenarioName[] = [
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
const NO_EVENTS =
  'It answers 2xx to null, an array, a string and 5 more. Answer 5xx to an authentic body that is not an event'
const LIKE_GENUINE = 'as to a genuine delivery: it accepts this as genuine, or fails before it verifies. '
const HANDLER_FAILS =
  'a genuine delivery and 401 to a forgery, so it verifies, and its handler fails. If it looks the order up, give one that exists: --data @data.json. Apart from this, only probes'

const all = (names: readonly ScenarioName[], advice: string): Failures =>
  Object.fromEntries(names.map((name) => [name, advice]))

const fail = (): never => {
  throw new Error('there is no such order')
}

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
  { does: 'makes no mistake', unseen: { large: 'Nothing larger was sent. Stop reading at a limit' } },
  { does: 'answers 202', steps: { once: async () => 202, onUnknownKind: 202 }, playsAll: true },
  {
    does: 'looks its order up, and fails where there is none',
    fails: { valid: `It answers 500 to ${HANDLER_FAILS}` },
    tried: 15,
    steps: { once: async () => 500 },
  },
  {
    does: 'verifies nothing, and has a handler that fails',
    fails: {
      valid:
        'It answers 500 to a genuine delivery and to a forgery alike: it fails before it verifies, or does not verify.',
      ...all(FORGED, `It answers 500, ${LIKE_GENUINE}`),
    },
    tried: 11,
    listener: () => answering(500),
  },
  {
    does: 'verifies what it has parsed and written again',
    fails: {
      ...all(['whitespace', 'unicode'], RAW_BYTES),
      ...all(['tampered-byte', 're-serialised-body'], FORGERY + RAW_BYTES),
      ...all(['truncated', 'empty-body'], SERVER_ERROR),
    },
    steps: { signedContent: (t, body) => `${t}.${JSON.stringify(JSON.parse(body.toString()))}` },
  },
  {
    does: 'does not check t',
    fails: {
      stale: `${REPLAY}. Answer 401 if it was signed more than five minutes ago`,
      future: 'It ACCEPTED A FUTURE REPLAY. Answer 401 if it was signed more than five minutes in the future',
    },
    steps: { isFresh: () => true },
  },
  {
    does: 'takes the last t, and has a handler that fails',
    fails: { valid: 'It answers 500 to a genuine delivery and 401 to a forgery' },
    warns: {
      'malformed-header': 'It accepts a header with two t. The signature is valid for the one that it reads',
    },
    tried: 15,
    steps: { ...LAST_TIME_WINS, handle: fail },
  },
  {
    does: 'verifies the first t, and judges the age by the last',
    fails: { 'malformed-header': 'It ACCEPTED A MALFORMED HEADER' },
    consequences: { 'malformed-header': 'accepts_replays' },
    playsAll: true,
    steps: TWO_TIMES,
  },
  {
    does: 'relies on a title',
    fails: { thin: 'The payload of event.* is undocumented' },
    steps: { handle: ({ type, data }) => type === 'event.published' && data.event?.title.toUpperCase() },
  },
  {
    does: 'marks an event before it handles it',
    fails: { 'retried-failure': 'It answers 500 and then 200 to the same event: it marks an event before' },
    steps: LOST,
  },
  {
    does: 'marks an event before it handles it, and fails once for another reason',
    steps: markingFirst(failingOnce()),
  },
  {
    does: 'answers 409 to a duplicate, by its id, in a store that stays',
    fails: { duplicate: 'Answer 2xx to an event that was handled before' },
    consequences: { duplicate: 'retries_in_vain' },
    checks: 2,
    playsAll: true,
    steps: conflictingOn(idOf),
  },
  {
    does: 'tells events apart by their date alone, and answers 409 to a duplicate',
    fails: {
      reordered: 'Deliveries arrive',
      tied: 'Two events can have the same',
      duplicate: 'Answer 2xx to an event that was handled before',
    },
    consequences: { reordered: 'loses_events', tied: 'loses_events', duplicate: 'retries_in_vain' },
    playsAll: true,
    steps: { ...conflicting, keyOf: ({ created_at }) => created_at },
  },
  {
    does: 'decodes each chunk by itself',
    fails: all(['chunked', 'tiny-chunks', 'slow-body'], 'Read the whole body'),
    consequences: { chunked: 'loses_events', 'tiny-chunks': 'loses_events', 'slow-body': 'loses_events' },
    playsAll: true,
    async reading(request) {
      let text = ''
      for await (const chunk of request) text += chunk
      return Buffer.from(text)
    },
  },
  {
    does: 'verifies nothing',
    fails: {
      ...all(FORGED, FORGERY),
      'malformed-header': 'It ACCEPTED A MALFORMED HEADER. ',
      ...all(['stale', 'future'], 'It ACCEPTED A '),
      'not-json': 'Answer 5xx to an authentic body that you cannot read',
      'not-an-envelope': NO_EVENTS,
    },
    listener: () => answering(204),
  },
  {
    does: 'parks what fails, and looks its order up',
    fails: { valid: `It parks ${HANDLER_FAILS.replace(' and 401', ', and answers 401')}` },
    unseen: { 'not-json': 'It parked this' },
    tried: 15,
    listener: parking,
  },
  {
    does: 'redirects',
    fails: { valid: "Redirects are not followed: set the endpoint's URL to" },
    tried: 1,
    listener: () => answering(308, { location: '/hooks/' }),
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
    reading: crashingOn((body) => isJson(body) && ticketsOf(JSON.parse(String(body))) === undefined),
  },
  {
    does: 'crashes on bytes that are no JSON',
    fails: {
      'tampered-byte': 'closed the connection without a complete answer: did your receiver crash or restart?',
      're-serialised-body':
        'Nothing listens there any more: the receiver crashed, maybe by tampered-byte. Its log has the reason',
    },
    tried: 16,
    reading: crashingOn((body) => !isJson(body)),
  },
]

/** Answers all alike. */
function answering(status: number, headers?: Record<string, string>): RequestListener {
  return (request, response) =>
    void request.resume().on('end', () => response.writeHead(status, headers).end())
}

/** A receiver of ours, whose handler fails. */
function parking(): RequestListener {
  return tixWebhooks({
    secret: SECRET,
    on: { 'order.created': fail, 'event.published': fail },
    failures: memoryFailures(),
    namespace: 'orders',
    parkAfter: { attempts: 1 },
    onUnhandled: () => {},
    onError: () => {},
  })
}

function crashingOn(isFatal: (body: Buffer) => boolean): Reading {
  return async (request) => {
    const body = await readWhole(request)
    if (!isFatal(body)) return body
    crash((request.socket as Socket & { server: Server }).server)
    return undefined
  }
}

export async function readWhole(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks)
}

/** Ends as a process does: open connections are cut, and nothing listens any more. */
function crash(server: Server): void {
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
