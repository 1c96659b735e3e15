import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { orderCreated, sign } from '../support/deliveries.js'
import { type HostName, type NodeFault, startHost, type WebFault } from '../support/hosts.js'
import { dial, type HttpAnswer, type Listening, post, requestHead } from '../support/http.js'
import { assertAnswer, deliver, jsonHeaders } from '../support/raw-bytes-harness.js'

/** The answer to an unsigned request if the host has the fault. */
type End =
  | 'ours'
  | 'misconfigured'
  | 'incomplete'
  | 'begun'
  | 'flushed'
  | 'by the app'
  | '5xx'
  | 'closed'
  | '5xx or closed'

const NODE_FAULTS = {
  'writeHead throws once': '5xx',
  'writeHead throws': '5xx or closed',
  'writeHead returns nothing': 'ours',
  'end throws': 'closed',
  'setHeader throws': '5xx or closed',
  'removeHeader throws': '5xx or closed',
  'the reason phrase throws': '5xx or closed',
  'the headers of the request throw': '5xx',
  'the response is destroyed': 'closed',
  'the answer is begun': 'begun',
  'the answer is begun and left': 'begun',
  'the headers are flushed': 'flushed',
  'the reason phrase is invalid': 'ours',
  'framing is preset': 'ours',
  'another body is preset': 'ours',
  'errors are emitted after the answer': 'ours',
} as const satisfies Partial<Record<NodeFault, End>>

const EXPRESS_FAULTS = {
  ...NODE_FAULTS,
  'end rejects': 'ours',
  'the body throws': '5xx',
  'the type of a body that was read throws': '5xx',
} as const satisfies Partial<Record<NodeFault, End>>

const FASTIFY_FAULTS = {
  ...NODE_FAULTS,
  'the log throws': 'ours',
  'the payload is numbers': 'misconfigured',
  'the payload is objects': 'misconfigured',
  'the serializer throws': 'ours',
  'the serializer encodes': 'ours',
} as const satisfies Partial<Record<NodeFault, End>>

const WEB_FAULTS = {
  'the headers of the request throw': '5xx',
  'the body throws': 'incomplete',
  'the body is locked': 'misconfigured',
  'the body was cancelled': 'misconfigured',
} as const satisfies Partial<Record<WebFault, End>>

const HOSTS: readonly (readonly [HostName, Partial<Record<NodeFault | WebFault, End>>])[] = [
  ['Express 4', EXPRESS_FAULTS],
  ['Express 5', EXPRESS_FAULTS],
  ['Fastify 4', FASTIFY_FAULTS],
  ['Fastify 5', FASTIFY_FAULTS],
  ['node:http', { ...NODE_FAULTS, 'end rejects': 'ours' }],
  [
    'Hono',
    {
      ...WEB_FAULTS,
      'the headers of the request throw': 'by the app',
      'the body was read under it': 'misconfigured',
      'framing is preset': 'ours',
      'another body is preset': 'ours',
    },
  ],
  ['fetch', WEB_FAULTS],
]

// An uncaught error would end a process, and fails the run.
describe.each(HOSTS)('a process with %s lives on, and answers, where', (name, faults) => {
  let host: Listening
  beforeAll(async () => {
    vi.spyOn(console, 'error').mockImplementation(() => {})
    host = await startHost(name)
  })
  afterAll(() => host.close())

  test.each(Object.entries(faults) as [NodeFault | WebFault, End][])('%s: %s', async (fault, end) => {
    const forged = await sign(orderCreated(), { secret: 'another' })
    const headers = { 'x-test-fault': fault }
    assertEnd(await deliver(host.port, forged, { headers }).catch(() => 'closed' as const), end)
    await post(host.port, { headers }).catch(() => {})
    assertAnswer(await deliver(host.port, await sign(orderCreated())), 200, 'handled')
  })

  test('clients leave at any point', async () => {
    const { header, body } = await sign(orderCreated(), { secret: 'another' })
    const head = requestHead({
      ...jsonHeaders(header),
      'content-length': body.length,
      expect: '100-continue',
    })
    const whole = Buffer.concat([Buffer.from(head), body])
    // Before, between and within the head and the body, and while the answer is written.
    for (const sent of [0, 10, head.length, head.length + 10, whole.length]) {
      for (const how of ['destroy', 'reset'] as const) {
        const client = await dial(host.port)
        await client.write(whole.subarray(0, sent))
        client[how]()
        await client.closed
      }
    }
    assertAnswer(await deliver(host.port, await sign(orderCreated())), 200, 'handled')
  })

  test('requests are pipelined: each is answered, in order', async () => {
    const deliveries = await Promise.all([
      sign(orderCreated(), { secret: 'another' }),
      sign(orderCreated()),
      sign('no JSON'),
    ])
    const client = await dial(host.port)
    for (const { header, body } of deliveries) {
      await client.write(requestHead({ ...jsonHeaders(header), 'content-length': body.length }))
      await client.write(body)
    }
    const statuses = [await client.answer(), await client.answer(), await client.answer()]
    expect(statuses.map(({ status }) => status)).toEqual([401, 200, 500])
    client.destroy()
  })
})

function assertEnd(answer: HttpAnswer | 'closed', end: End): void {
  if (answer === 'closed') {
    expect(end).toMatch(/closed$/)
    return
  }
  const { status, text, headers } = answer
  if (end === 'ours') {
    assertAnswer(answer, 401, 'unauthenticated')
    expect(headers['content-length']).toBe(String(text.length))
    const kept = ['transfer-encoding', 'trailer', 'content-encoding', 'etag', 'retry-after']
    expect(kept.filter((name) => name in headers)).toEqual([])
  } else if (end === 'misconfigured') assertAnswer(answer, 500, 'misconfigured')
  else if (end === 'incomplete') assertAnswer(answer, 400, 'incomplete')
  else if (end === 'begun') expect([status, text]).toEqual([202, 'begun'])
  else if (end === 'flushed') expect([status, text]).toEqual([200, ''])
  else if (end === 'by the app') expect([status, text]).toEqual([500, 'by the app'])
  else expect([end.startsWith('5xx'), status]).toEqual([true, 500])
}
