import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createSandbox, type Sandbox } from 'tix-webhooks-sandbox'
import type { Group } from '../support/bench.js'
import { type Comparison, timeBeside } from '../support/comparison.js'
import { short, spread, whole } from '../support/figures.js'
import { alternate, estimateOf } from '../support/rounds.js'
import { type Filled, fill } from './filled.js'

const HEADERS = { authorization: 'bearer sk_test_bench', 'content-type': 'application/json' }

/** The calls of the API, and the command that advances time. */
const ACTIONS: Readonly<Record<string, (filled: Filled) => Promise<unknown>>> = {
  'list: the first page': ({ sandbox }) => get(sandbox, '/v2/events'),
  'list: 100 from the middle': ({ sandbox, middle }) =>
    get(sandbox, `/v2/events?limit=100&starting_after=${middle}`),
  'order, and its delivery': async ({ sandbox, newest }) => {
    await post(sandbox, '/v2/sandbox/orders', {
      event_id: newest.id,
      ticket_tier_id: newest.tickets[0].id,
      quantity: 2,
    })
    await sandbox.settled()
  },
  'advance by a second': ({ sandbox }) => sandbox.clock.advance('1s'),
}

/** Whether the sandbox stays responsive with much data, and how long three days take. */
export const sandbox: Group = {
  id: 'sandbox',
  async measure(bench) {
    const few = { events: 100, orders: 1000 }
    const many = bench.size({ events: 3_000, orders: 30_000 }, { events: 1000, orders: 5000 })
    bench.progress(`sandbox: ${whole(many.events)} events with ${whole(many.orders)} orders`)
    const small = await fill(few)
    const large = await fill(many)
    const comparisons: Comparison[] = []
    for (const [what, act] of Object.entries(ACTIONS)) {
      const [least = [], most = []] = await alternate(bench.size(16, 2), [
        () => millisecondsOf(small, act),
        () => millisecondsOf(large, act),
      ])
      const few = { name: 'with little data', figures: least }
      comparisons.push(timeBeside({ name: `sandbox, ${what}`, figures: most }, few, { atMost: 2 }))
    }
    const [inProcess, overHttp] = await alternate(bench.size(8, 1), [threeDays, threeDaysOverHttp])
    await small.sandbox.close()
    await large.sandbox.close()
    return [
      {
        title: 'The sandbox with much data',
        ratio: `Its time with ${whole(many.events)} events and ${whole(many.orders)} orders, to that with ${whole(few.events)} and ${whole(few.orders)}`,
        unit: 'milliseconds',
        comparisons,
        notes: [
          `Through its API, in process, with one endpoint. The orders were made and delivered in ${short(large.seconds)} s, and take ${short(large.bytes / 1e6)} MB of heap.`,
        ],
      },
      {
        title: 'Three days of a delivery that fails, fast-forwarded',
        columns: ['receiver', 'milliseconds'],
        rows: [
          ['in process', spread(estimateOf(inProcess ?? [], 'time'), short)],
          ['over HTTP', spread(estimateOf(overHttp ?? [], 'time'), short)],
        ],
        notes: ['Eleven attempts, each signed, sent and answered 500.'],
      },
    ]
  },
}

const CALLS = 20

async function millisecondsOf(filled: Filled, act: (filled: Filled) => Promise<unknown>): Promise<number> {
  const startMs = performance.now()
  for (let call = 0; call < CALLS; call++) await act(filled)
  return (performance.now() - startMs) / CALLS
}

async function get(sandbox: Sandbox, path: string): Promise<unknown> {
  return answered(await sandbox.fetch(path, { headers: HEADERS }))
}

async function post(sandbox: Sandbox, path: string, body: object): Promise<unknown> {
  return answered(await sandbox.fetch(path, { method: 'POST', headers: HEADERS, body: JSON.stringify(body) }))
}

async function answered(response: Response): Promise<unknown> {
  const body = await response.text()
  if (!response.ok) throw new Error(`The sandbox answered ${response.status}: ${body}`)
  return JSON.parse(body)
}

async function threeDays(): Promise<number> {
  return advanced(createSandbox({ deliver: async () => new Response(null, { status: 500 }) }))
}

async function threeDaysOverHttp(): Promise<number> {
  const server = createServer((request, response) => {
    request.resume().on('end', () => response.writeHead(500).end())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks`
  const milliseconds = await advanced(createSandbox({ endpoints: [{ url }] }))
  server.close()
  return milliseconds
}

async function advanced(sandbox: Sandbox): Promise<number> {
  await sandbox.trigger('order.created')
  const startMs = performance.now()
  await sandbox.clock.advance('72h')
  const milliseconds = performance.now() - startMs
  const [delivery] = sandbox.deliveries.list()
  if (delivery?.attempts.length !== 11) throw new Error(`There were ${delivery?.attempts.length} attempts.`)
  await sandbox.close()
  return milliseconds
}
