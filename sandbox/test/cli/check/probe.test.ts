/** @module-tag slow */
import { createServer, type RequestListener } from 'node:http'
import { tixWebhooks } from 'tix-webhooks/express'
import { describe, expect, onTestFinished, test } from 'vitest'
import { SECRET } from '../../../../test/support/deliveries.js'
import { EXPRESS_VERSIONS } from '../../../../test/support/express.js'
import { listen } from '../../../../test/support/http.js'
import { PROBE_NAMES } from '../../../cli/check/plan.js'
import { type ProbeOptions, type ProbeResult, probe } from '../../../cli/check/probe.js'
import { httpSender } from '../../../engine/network/http-sender.js'
import {
  byHand,
  CHECKED_RECEIVERS,
  crash,
  type Failures,
  FORGED,
  LOST,
  readWhole,
} from '../../support/checked-receivers.js'

const send = httpSender()
const NAMES = PROBE_NAMES

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

const names: readonly string[] = NAMES
const byOrder = (a: string, b: string): number => names.indexOf(a) - names.indexOf(b)

const beginning = (advice: Failures): object =>
  Object.fromEntries(Object.entries(advice).map(([name, start]) => [name, expect.stringContaining(start)]))

// The adapter's own tests run on each version of Express.
describe.each(EXPRESS_VERSIONS.slice(0, 1))('our receiver on Express $version', ({ express }) => {
  const app = (on: object = { 'order.created': () => {}, 'event.published': () => {} }) =>
    express().post('/hooks', tixWebhooks({ secret: SECRET, on, onUnhandled: () => {}, onError: () => {} }))

  test('passes all probes', async () => {
    const results = await check(app())
    expect(failed(results)).toEqual([])
    expect(results.map(({ name }) => name)).toEqual(NAMES)
    expect(results.every(({ advice }) => advice === undefined)).toBe(true)
  })

  test.each(['order.created', 'event.cancelled'])(
    'passes those of %s, though it has no handler for them',
    async (kind) => {
      const another = kind === 'order.created' ? 'event.published' : 'order.created'
      const results = await check(app({ [another]: () => {} }), { kind })
      expect(failed(results)).toEqual([])
      expect(results).toHaveLength(NAMES.length - 1)
    },
  )
})

/** How many scenarios a receiver is probed with that it should pass. */
const PASSED_PER_RECEIVER = 8

/**
 * The scenarios that a receiver fails, and some that it passes, others for each row: to play them all takes half a second. Rows about
 * the choice of scenarios itself play all.
 */
const ROWS = CHECKED_RECEIVERS.map((row, index) => {
  const { fails = {}, unseen = {}, options, tried, playsAll = false } = row
  const isAboutChoice = playsAll || options !== undefined || tried !== undefined || 'valid' in fails
  const some = NAMES.filter((_, at) => (at + index) % Math.ceil(NAMES.length / PASSED_PER_RECEIVER) === 0)
  // A correct receiver may handle or refuse some bodies, which not-an-envelope leaves out: rows that handle them must play it.
  const only = new Set<string>([
    'valid',
    'not-an-envelope',
    ...Object.keys(fails),
    ...Object.keys(unseen),
    ...some,
  ])
  return { ...row, ...(!isAboutChoice && { tried: only.size, options: { only: [...only] } }) }
})

describe('a receiver that', () => {
  test.each(ROWS)('$does', async (row) => {
    const { fails = {}, warns = {}, consequences = {}, checks = 1, unseen = {}, options, tried } = row
    const hooks = row.listener?.() ?? byHand(row.steps, row.reading)
    for (let count = 1; count < checks; count += 1) await check(hooks, options)
    const results = await check(hooks, options)
    const warned = results.filter(({ consequence }) => consequence === 'lenient').map(({ name }) => name)
    expect(warned).toEqual(Object.keys(warns))
    for (const [name, consequence] of Object.entries(consequences)) {
      expect(results).toContainEqual(expect.objectContaining({ name, consequence }))
    }
    const advised = results.filter(({ advice }) => advice !== undefined)
    const faults = { ...fails, ...warns }
    expect(failed(results)).toEqual(Object.keys(faults).sort(byOrder))
    expect(Object.fromEntries(advised.map(({ name, advice }) => [name, advice]))).toEqual(beginning(faults))
    const noted = results.flatMap(({ name, note }) => (name in unseen ? [[name, note]] : []))
    expect(Object.fromEntries(noted)).toEqual(beginning(unseen))
    expect(results).toHaveLength(tried ?? (options?.data === undefined ? NAMES.length : NAMES.length - 2))
  })

  test('refuses forgeries with other 4xx, and asks for a retry of a burst and of unreadable bodies, is fine', async () => {
    const statuses = { 400: 404, 401: 403, 500: 503 }
    const results = await check((request, response) => {
      const { writeHead } = response
      response.writeHead = ((status: number) =>
        writeHead.call(response, statuses[status as keyof typeof statuses] ?? status)) as typeof writeHead
      byHand()(request, response)
    })
    expect(failed(results)).toEqual([])
  })

  test('redirects forgeries gets the advice that redirects are not followed', async () => {
    let first = true
    const results = await check(
      (request, response) => {
        request.resume()
        response.writeHead(first ? 204 : 302, { location: '/login' }).end()
        first = false
      },
      { only: ['stale', 'not-json'] },
    )
    expect(results).toMatchObject([
      { name: 'stale', passed: false, advice: expect.stringMatching(/^Redirects are not followed/) },
      { name: 'not-json', passed: true },
    ])
  })

  test('limits requests gets no verdict', async () => {
    let count = 0
    const results = await check(
      (request, response) => {
        count += 1
        if (count < 3) byHand()(request, response)
        else response.writeHead(429).end()
      },
      { only: ['future', 'stale', 'extra-fields'] },
    )
    expect(results.map(({ name, passed, advice }) => [name, passed, advice])).toEqual([
      ['extra-fields', true, undefined],
      ['stale', false, expect.stringMatching(/^It answers 429, which proves nothing/)],
      ['future', false, expect.stringMatching(/^It answers 429/)],
    ])
  })
})

test.each<[string, ProbeOptions['secret']]>([
  ['short', 'short'],
  ['bytes', Buffer.from('whsec_of_bytes')],
])('a secret that is %s is not shown at all', async (_, secret) => {
  const [result] = await check(byHand(), { secret })
  expect(result?.advice).toContain('is not the one that you gave, it does not verify')
})

describe('a receiver that ends or hangs on the way', () => {
  test('is reported with the probe during which it did, and no other probe is sent', async () => {
    const server = createServer(async (request, response) => {
      const body = await readWhole(request)
      const probed = byHand({}, async () => body)
      if (request.headers['x-service-signature'] !== undefined && body.length === 0) crash(server)
      else probed(request, response)
    })
    const { url, close } = await listen(server)
    onTestFinished(() => close().catch(() => {}))
    const results = await probe(`${url}/hooks`, { secret: SECRET, send })
    expect(results.slice(-2)).toMatchObject([
      {
        name: 'empty-body',
        got: ['ECONNRESET'],
        advice: expect.stringMatching(
          /closed the connection without a complete answer: did your receiver crash/,
        ),
      },
      {
        name: 'not-json',
        got: ['ECONNREFUSED'],
        passed: false,
        advice: expect.stringMatching(
          /^Nothing listens there any more: the receiver crashed, maybe by empty-body\. Its log/,
        ),
      },
    ])
    expect(failed(results)).toEqual(['empty-body', 'not-json'])
  })

  /** Answers as it should, but leaves some without an answer. */
  const silentOn = (isSilent: (status: number, body: Buffer) => boolean, cut = true): RequestListener => {
    return async (request, response) => {
      const body = await readWhole(request)
      const { writeHead } = response
      response.writeHead = ((status: number) => {
        if (!isSilent(status, body)) return writeHead.call(response, status)
        if (cut) request.socket.destroy()
        return { end: () => {} }
      }) as typeof writeHead
      byHand({}, async () => body)(request, response)
    }
  }
  const isForged = (status: number): boolean => status === 400 || status === 401
  const NO_FORGERY =
    /^It does not answer forgeries \((ECONNRESET|timeout)\), but still answers genuine deliveries/
  const THIS_ONE = /^It did not answer this \(ECONNRESET\), and still answers others/

  test.each<[string, RequestListener, string[], string | undefined, RegExp]>([
    ['cuts the connection on forgeries', silentOn(isForged), [...FORGED], 'harmless', NO_FORGERY],
    ['lets forgeries hang', silentOn(isForged, false), ['wrong-secret', 'stale'], 'harmless', NO_FORGERY],
    [
      'cuts the connection on one forgery',
      silentOn((status, body) => isForged(status) && body.length === 0),
      ['empty-body'],
      'undecided',
      THIS_ONE,
    ],
    [
      'cuts the connection on what it cannot read',
      silentOn((status) => status === 500),
      ['not-json', 'not-an-envelope'],
      'undecided',
      THIS_ONE,
    ],
    [
      'cuts the connection on an order without tickets',
      silentOn((_, body) => !body.includes('tickets') && body.includes('order.created')),
      ['retried-failure'],
      'undecided',
      /^It did not answer an order that lacks something/,
    ],
  ])(
    'is not said to be stopped if it answers what follows: it %s',
    async (_, listener, only, consequence, advice) => {
      const results = await check(listener, { only, timeoutSeconds: 0.3 })
      expect(results).toMatchObject(
        only.map(() => ({ passed: false, consequence, advice: expect.stringMatching(advice) })),
      )
    },
  )

  test('is not waited for at each delivery', async () => {
    let hung = 0
    const results = await check(
      async (request, response) => {
        const body = await readWhole(request)
        if (request.headers['x-service-signature']?.includes('v1=') && !String(body).startsWith('{'))
          hung += 1
        else byHand({}, async () => body)(request, response)
      },
      { timeoutSeconds: 0.3, only: ['not-json', 'unknown-kind'] },
    )
    expect(results).toMatchObject([
      { name: 'not-json', got: ['timeout'], passed: false },
      { name: 'unknown-kind', passed: true },
    ])
    expect(hung).toBe(1)
  })
})

describe('the options', () => {
  test('set how far t is off, and what the receiver allows', async () => {
    const strict = () => byHand({ isFresh: (t) => Math.abs(Date.now() / 1000 - Number(t)) <= 1800 })
    const only = ['stale', 'future']
    expect(failed(await check(strict(), { only }))).toEqual(only)
    expect(failed(await check(strict(), { only, toleranceSeconds: 1800 }))).toEqual([])
  })

  test.each<[string, Partial<ProbeOptions>, RegExp]>([
    [
      'a scenario that there is not',
      { only: ['stale', 'mayhem'] },
      /^There is no probe "mayhem"\. The probes are valid, /,
    ],
    [
      'a kind without samples',
      { kind: 'order.refunded' },
      /^There are samples of order\.created, .* only: give the data of "order\.refunded" with --data\.$/,
    ],
    [
      'a scenario of other kinds',
      { kind: 'order.created', only: ['thin'] },
      /^The scenario thin needs an event\.\*/,
    ],
    [
      'retried-failure with an order that exists',
      { data: { order: { id: 'ord_7' } }, only: ['retried-failure'] },
      /^The probe retried-failure makes up orders that lack something: leave out --data/,
    ],
    [
      'retried-failure of another kind',
      { kind: 'event.published', only: ['retried-failure'] },
      /and any --kind but order\.created\.$/,
    ],
    ['no secret', { secret: undefined }, /^secret is undefined/],
  ])('are refused before anything is sent: %s', async (_, options, message) => {
    let requests = 0
    const listener: RequestListener = () => {
      requests += 1
    }
    await expect(check(listener, options)).rejects.toThrow(message)
    expect(requests).toBe(0)
  })
})

test('an order that exists is sent in each probe, at a date of its own, and of any kind', async () => {
  const bodies: string[] = []
  const data = { order: { id: 'ord_7' } }
  const only = ['valid', 'whitespace', 'reordered']
  await check(byHand({ first: (body) => void bodies.push(String(body)) }), {
    data,
    only,
    kind: 'order.refunded',
  })
  const events = bodies.map((body) => JSON.parse(body))
  for (const event of events) expect(event).toMatchObject({ type: 'order.refunded', data })
  expect(new Set(events.map(({ created_at }) => created_at)).size).toBe(6)
})

test('an order that failed is sent again, and then another one, which fails alike', async () => {
  const ids: string[] = []
  await check(
    byHand({ first: (body) => void ids.push(JSON.parse(body.toString()).data.order.id), ...LOST }),
    {
      only: ['retried-failure'],
    },
  )
  const [valid, first, again, second, secondAgain, ...more] = ids
  expect([again, secondAgain, more]).toEqual([first, second, []])
  expect(new Set([valid, first, second]).size).toBe(3)
})

test('each delivery of a probe has an order of its own, except in probes about one order', async () => {
  const expected = [
    ['whitespace', 2, 2],
    ['unicode', 2, 2],
    ['two-v1', 2, 2],
    ['reordered', 3, 3],
    ['tied', 3, 2],
    ['missing-header', 3, 3],
    ['malformed-header', 14, 14],
    ['truncated', 6, 6],
    ['wrong-secret', 2, 2],
    ['unknown-kind', 2, 2],
    ['duplicate', 3, 1],
    ['concurrent-burst', 12, 1],
  ] as const
  for (const [name, deliveries, orders] of expected) {
    const seen: string[] = []
    const first = (body: Buffer) => void seen.push(/ord_\w+/.exec(body.toString())?.[0] ?? '')
    await check(byHand({ first }), { only: [name] })
    const [, ...ids] = seen
    expect([name, ids.length, new Set(ids).size]).toEqual([name, deliveries, orders])
  }
})
