/** @module-tag slow */
import type { RequestListener } from 'node:http'
import { expect, onTestFinished, test } from 'vitest'
import { SECRET } from '../../../../test/support/deliveries.js'
import { listen } from '../../../../test/support/http.js'
import { PROBE_NAMES } from '../../../cli/check/plan.js'
import { type ProbeOptions, type ProbeResult, probe } from '../../../cli/check/probe.js'
import { httpSender } from '../../../engine/network/http-sender.js'
import { byHand, CHECKED_RECEIVERS, type Failures, LOST, readWhole } from '../../support/checked-receivers.js'

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

test.each(['order.created', 'event.cancelled'])(
  'a correct receiver passes all probes of %s',
  async (kind) => {
    const results = await check(byHand(), { kind })
    expect(failed(results)).toEqual([])
    expect(results).toHaveLength(NAMES.length - 1)
  },
)

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
  const own = [...Object.keys(fails), ...Object.keys(unseen)]
  const only = new Set<string>(['valid', 'not-an-envelope', ...own, ...some])
  return { ...row, ...(!isAboutChoice && { tried: only.size, options: { only: [...only] } }) }
})

test.each(ROWS)('a receiver that $does', async (row) => {
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
    { timeoutSeconds: 0.3, only: ['not-json', 'unknown-kind'] },
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

const RETRIED = 'retried-failure'

test.each<[Partial<ProbeOptions>, RegExp]>([
  [{ only: ['stale', 'mayhem'] }, /^There is no probe "mayhem"\. The probes are /],
  [{ kind: 'order.refunded' }, /give the data of "order\.refunded" with --data\.$/],
  [{ kind: 'order.created', only: ['thin'] }, /^The scenario thin needs an event\.\*/],
  [{ data: {}, only: [RETRIED] }, /makes up orders that lack something: leave out --data/],
  [{ kind: 'event.published', only: [RETRIED] }, /any --kind but order\.created\.$/],
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
  for (const [name, deliveries, orders] of expected) {
    const seen: string[] = []
    const first = (body: Buffer) => void seen.push(/ord_\w+/.exec(body.toString())?.[0] ?? '')
    await check(byHand({ ...LOST, first }), { only: [name] })
    const [, ...ids] = seen
    expect([name, ids.length, new Set(ids).size]).toEqual([name, deliveries, orders])
  }
})
