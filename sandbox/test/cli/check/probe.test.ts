/** @module-tag slow */
import type { RequestListener, Server } from 'node:http'
import type { Socket } from 'node:net'
import { parseEvent } from 'tix-webhooks'
import { tixWebhooks } from 'tix-webhooks/node'
import { SCENARIOS, type ScenarioName } from 'tix-webhooks/testing'
import { expect, onTestFinished, test } from 'vitest'
import { SECRET } from '../../../../test/support/deliveries.js'
import { listen } from '../../../../test/support/http.js'
import { HONEST, type OwnEvent, type Steps } from '../../../../test/support/own-receiver.js'
import type { Consequence } from '../../../cli/check/consequence.js'
import { PROBE_NAMES, type ProbeName } from '../../../cli/check/plan.js'
import { type ProbeOptions, type ProbeResult, probe } from '../../../cli/check/probe.js'
import { madeUpEventToCut } from '../../../cli/send/made-up-events.js'
import { httpSender } from '../../../engine/network/http-sender.js'
import { piecesOf } from '../../../engine/network/transport.js'
import { byHand, type Reading, readWhole } from '../../support/receiver-by-hand.js'

const send = httpSender()

/** Probes what listens there. */
async function check(
  listener: RequestListener,
  options: Partial<ProbeOptions> = {},
): Promise<readonly ProbeResult[]> {
  const { url, close } = await listen(listener)
  onTestFinished(close)
  return probe(`${url}/hooks`, { secret: SECRET, send, ...options })
}

const failed = (results: readonly ProbeResult[]): string[] =>
  results.filter(({ passed }) => !passed).map(({ name }) => name)

test.each(['order.created', 'event.cancelled'])(
  'a correct receiver passes all probes of %s',
  async (kind) => {
    const results = await check(byHand(), { kind })
    expect(failed(results)).toEqual([])
    expect(results).toHaveLength(PROBE_NAMES.length - 1)
  },
)

/** Probes, and the start of the advice or the note for each. */
type Says = Readonly<Partial<Record<ProbeName, string>>>

/** A receiver with one fault, and the verdicts about it. */
interface Row {
  readonly does: string
  readonly listener: () => RequestListener
  /** These probes fail, and no others. */
  readonly fails: Says
  readonly consequences?: Readonly<Partial<Record<ProbeName, Consequence>>>
  /** The note of a passed probe. */
  readonly notes?: Says
  /** How often it is checked, with the same store: each time with the same result. Default once. */
  readonly checks?: number
  /** The number of probes played. Default: all. */
  readonly tried?: number
  readonly options?: Partial<ProbeOptions>
}

const FORGED = SCENARIOS.filter(({ verdict }) => verdict === 'forged').map(({ name }) => name)

const FORGERY = 'It ACCEPTED A FORGERY. '
const SERVER_ERROR = 'It answers 5xx, which makes the service retry for 72 hours: answer 4xx. '
const RAW_BYTES = 'Verify the raw bytes of the body'
const NO_EVENTS =
  'It answers 2xx to null, an array, a string and 5 more. Answer 5xx to an authentic body that is not an event'
const LIKE_GENUINE = 'as to a genuine delivery: it accepts this as genuine, or fails before it verifies. '
const HANDLER_FAILS =
  'a genuine delivery and 401 to a forgery, so it verifies, and its handler fails. If it looks the order up, give one that exists: --data @data.json. Apart from this, only probes'

const all = (names: readonly ScenarioName[], advice: string): Says =>
  Object.fromEntries(names.map((name) => [name, advice]))

const fail = (): never => {
  throw new Error('there is no such order')
}

/** Answers all alike. */
const answering = (status: number, headers?: Record<string, string>) => (): RequestListener => {
  return (request, response) =>
    void request.resume().on('end', () => response.writeHead(status, headers).end())
}

/** Asks its store before it looks at the kind, and answers 409 to what is there. */
const CONFLICTING: Partial<Steps> = {
  keyOf: ({ data }) => data.order?.id ?? (data.event as { id?: string } | undefined)?.id ?? '',
  once: async (key, memory, run) => (memory.get(key) === 'done' ? 409 : HONEST.once(key, memory, run)),
  findHandler: (handlers, type) => HONEST.findHandler(handlers, type) ?? (async () => {}),
}

async function readByChunk(request: AsyncIterable<Buffer>): Promise<Buffer> {
  let text = ''
  for await (const chunk of request) text += chunk
  return Buffer.from(text)
}

/** A receiver of ours, whose handler fails. */
const parking = (): RequestListener =>
  tixWebhooks({
    secret: SECRET,
    on: { 'order.created': fail, 'event.published': fail },
    namespace: 'orders',
    parkAfter: { attempts: 1 },
    onUnhandled: () => {},
    onError: () => {},
  })

/** Ends as a process does: open connections are cut, and nothing listens any more. */
function crashingOn(isFatal: (body: Buffer) => boolean): Reading {
  return async (request) => {
    const body = await readWhole(request)
    if (!isFatal(body)) return body
    const { server } = request.socket as Socket & { server: Server }
    server.close()
    server.closeAllConnections()
    return undefined
  }
}

function isJson(body: Buffer): boolean {
  try {
    JSON.parse(body.toString())
    return true
  } catch {
    return false
  }
}

const ticketsOf = ({ data }: OwnEvent) => (data as { tickets?: readonly { id: string }[] }).tickets

const ROWS: readonly Row[] = [
  {
    does: 'looks its order up, and fails where there is none',
    fails: { valid: `It answers 500 to ${HANDLER_FAILS}` },
    tried: 15,
    listener: () => byHand({ once: async () => 500 }),
  },
  {
    does: 'verifies nothing, and has a handler that fails',
    fails: {
      valid:
        'It answers 500 to a genuine delivery and to a forgery alike: it fails before it verifies, or does not verify.',
      ...all(FORGED, `It answers 500, ${LIKE_GENUINE}`),
    },
    tried: 11,
    listener: answering(500),
  },
  {
    does: 'verifies what it has parsed and written again',
    fails: {
      ...all(['whitespace', 'unicode'], RAW_BYTES),
      ...all(['tampered-byte', 're-serialised-body'], FORGERY + RAW_BYTES),
      ...all(['truncated', 'empty-body'], SERVER_ERROR),
    },
    listener: () =>
      byHand({ signedContent: (t, body) => `${t}.${JSON.stringify(JSON.parse(body.toString()))}` }),
  },
  {
    does: 'answers 409 to a duplicate, by its id, in a store that stays',
    fails: { duplicate: 'Answer 2xx to an event that was handled before' },
    consequences: { duplicate: 'retries_in_vain' },
    checks: 2,
    listener: () => byHand(CONFLICTING),
  },
  {
    does: 'decodes each chunk by itself',
    fails: all(['chunked', 'tiny-chunks', 'slow-body'], 'Read the whole body'),
    consequences: { chunked: 'loses_events', 'tiny-chunks': 'loses_events', 'slow-body': 'loses_events' },
    listener: () => byHand({}, readByChunk),
  },
  {
    does: 'verifies nothing',
    fails: {
      ...all(FORGED, FORGERY),
      'malformed-header': 'It ACCEPTED A MALFORMED HEADER. ',
      stale: 'It ACCEPTED A REPLAY. Answer 401 if it was signed more than five minutes ago',
      future: 'It ACCEPTED A FUTURE REPLAY. Answer 401 if it was signed more than five minutes in the future',
      'not-json': 'Answer 5xx to an authentic body that you cannot read',
      'not-an-envelope': NO_EVENTS,
    },
    listener: answering(204),
  },
  {
    does: 'parks what fails, and looks its order up',
    fails: { valid: `It parks ${HANDLER_FAILS.replace(' and 401', ', and answers 401')}` },
    notes: { 'not-json': 'It parked this' },
    tried: 15,
    listener: parking,
  },
  {
    does: 'redirects',
    fails: { valid: "Redirects are not followed: set the endpoint's URL to" },
    tried: 1,
    listener: answering(308, { location: '/hooks/' }),
  },
  {
    does: 'hangs',
    fails: { valid: 'It took over 0.3 s: hand long work to a queue' },
    tried: 1,
    options: { timeoutSeconds: 0.3 },
    listener: () => () => {},
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
      byHand(
        {},
        crashingOn((body) => !isJson(body)),
      ),
  },
]

const beginning = (says: Says): object =>
  Object.fromEntries(Object.entries(says).map(([name, start]) => [name, expect.stringContaining(start)]))

test.each(ROWS)('a receiver that $does', async (row) => {
  const { fails, consequences = {}, checks = 1, notes = {}, options, tried = PROBE_NAMES.length } = row
  const hooks = row.listener()
  for (let count = 1; count < checks; count += 1) await check(hooks, options)
  const results = await check(hooks, options)
  for (const [name, consequence] of Object.entries(consequences)) {
    expect(results).toContainEqual(expect.objectContaining({ name, consequence }))
  }
  expect(failed(results).sort()).toEqual(Object.keys(fails).sort())
  const advised = results.filter(({ advice }) => advice !== undefined)
  expect(Object.fromEntries(advised.map(({ name, advice }) => [name, advice]))).toEqual(beginning(fails))
  const noted = results.filter(({ name }) => name in notes)
  expect(Object.fromEntries(noted.map(({ name, note }) => [name, note]))).toEqual(beginning(notes))
  expect(results).toHaveLength(tried)
})

/** Answers as it should, but cuts the connection of some. */
const cutOn =
  (isCut: (status: number, body: string) => boolean): RequestListener =>
  async (request, response) => {
    const body = await readWhole(request)
    const { writeHead } = response
    response.writeHead = ((status: number) => {
      if (!isCut(status, String(body))) return writeHead.call(response, status)
      request.socket.destroy()
      return { end: () => {} }
    }) as typeof writeHead
    byHand({}, async () => body)(request, response)
  }

test.each<[string, RequestListener, string[], string, string]>([
  [
    'forgeries',
    cutOn((status) => status === 401),
    ['wrong-secret', 'stale'],
    'harmless',
    'It does not answer forgeries (ECONNRESET), but still answers genuine deliveries',
  ],
  [
    'one forgery',
    cutOn((_, body) => body === ''),
    ['empty-body'],
    'undecided',
    'It did not answer this (ECONNRESET), and still answers others',
  ],
  [
    'an order without tickets',
    cutOn((_, body) => !body.includes('tickets') && body.includes('order.created')),
    ['retried-failure'],
    'undecided',
    'It did not answer an order that lacks something',
  ],
])('a receiver that cuts the connection on %s still runs', async (_, listener, only, consequence, advice) => {
  const results = await check(listener, { only })
  expect(results).toMatchObject(
    only.map(() => ({ passed: false, consequence, advice: expect.stringContaining(advice) })),
  )
})

test('a receiver that hangs is not waited for at each delivery', async () => {
  let hung = 0
  const results = await check(
    async (request, response) => {
      const body = await readWhole(request)
      if (!String(body).startsWith('{')) hung += 1
      else byHand({}, async () => body)(request, response)
    },
    { timeoutSeconds: 1, only: ['not-json', 'unknown-kind'] },
  )
  expect(results).toMatchObject([
    { name: 'not-json', got: ['timeout'], passed: false },
    { name: 'unknown-kind', passed: true },
  ])
  expect(hung).toBe(1)
})

test('the options set how far t is off, and what the receiver allows', async () => {
  const strict = () => byHand({ isFresh: (t) => Math.abs(Date.now() / 1000 - Number(t)) <= 1800 })
  const only = ['stale', 'future']
  expect(failed(await check(strict(), { only }))).toEqual(only)
  expect(failed(await check(strict(), { only, toleranceSeconds: 1800 }))).toEqual([])
})

test.each<[Partial<ProbeOptions>, RegExp]>([
  [{ only: ['stale', 'mayhem'] }, /^There is no probe "mayhem"\. The probes are /],
  [{ kind: 'order.refunded' }, /give the data of "order\.refunded" with --data\.$/],
  [{ kind: 'order.created', only: ['thin'] }, /^The scenario thin needs an event\.\*/],
  [{ data: {}, only: ['retried-failure'] }, /makes up orders that lack something: leave out --data/],
  [{ kind: 'event.published', only: ['retried-failure'] }, /any --kind but order\.created\.$/],
  [{ secret: undefined }, /^secret is undefined/],
])('options are refused before anything is sent: %j', async (options, message) => {
  let requests = 0
  const listener: RequestListener = () => {
    requests += 1
  }
  await expect(check(listener, options)).rejects.toThrow(message)
  expect(requests).toBe(0)
})

test('an order that exists is sent in each probe, at a date of its own, and of any kind', async () => {
  const bodies: string[] = []
  const data = { order: { id: 'ord_7' } }
  const hooks = byHand({ first: (body) => void bodies.push(String(body)) })
  await check(hooks, { data, only: ['valid', 'whitespace', 'reordered'], kind: 'order.refunded' })
  const events = bodies.map((body) => JSON.parse(body))
  for (const event of events) expect(event).toMatchObject({ type: 'order.refunded', data })
  expect(new Set(events.map(({ created_at }) => created_at)).size).toBe(6)
})

test('each delivery of a probe has an order of its own, except in probes about one order', async () => {
  const expected = [
    ['unicode', 2, 2],
    ['reordered', 3, 3],
    ['tied', 3, 2],
    ['malformed-header', 14, 14],
    ['duplicate', 3, 1],
    ['concurrent-burst', 12, 1],
    // An order that failed is sent again, and then another one, which fails alike.
    ['retried-failure', 4, 2],
  ] as const
  /** Marks an event before it handles it, and fails if it has no tickets. */
  const lost: Partial<Steps> = {
    handle: (event) => event.type === 'order.created' && (ticketsOf(event) ?? fail()),
    async once(key, memory, run) {
      if (memory.has(key)) return 200
      memory.set(key, 'done')
      await run()
      return 200
    },
  }
  for (const [name, deliveries, orders] of expected) {
    const seen: string[] = []
    const first = (body: Buffer) => void seen.push(/ord_\w+/.exec(body.toString())?.[0] ?? '')
    await check(byHand({ ...lost, first }), { only: [name] })
    const [, ...ids] = seen
    expect([name, ids.length, new Set(ids).size]).toEqual([name, deliveries, orders])
  }
})

const KINDS = ['order.created', 'event.published', 'event.cancelled', 'event.rescheduled'] as const

test.each(KINDS)(
  'an event of %s is cut within a character, so that its pieces are no valid text',
  async (kind) => {
    for (let count = 0; count < 200; count++) {
      const body = madeUpEventToCut(kind)
      const text = piecesOf(Buffer.from(body))
        .map((piece) => Buffer.from(piece).toString())
        .join('')
      expect(text).not.toBe(body)
      expect(await parseEvent(body)).toMatchObject({ type: kind })
    }
  },
)
