import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { register } from 'prom-client'
import { createReceiver, RetryLater } from 'tix-webhooks'
import { instrument } from 'tix-webhooks/opentelemetry'
import { expect, onTestFinished, test, vi } from 'vitest'
import { snippetsFolder, snippetsOf } from '../support/compile.js'
import { orderCreated, SECRET, sign } from '../support/deliveries.js'
import { requestOf } from '../support/fetching.js'
import { listen } from '../support/http.js'
import { deliver } from '../support/raw-bytes-harness.js'
import { ROOT } from '../support/source.js'
import { telemetry } from '../support/telemetry.js'

test('examples/opentelemetry.ts sends its spans and metrics to a collector', async () => {
  const sent = new Map<string, string>()
  const collector = await listen(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    sent.set(request.url ?? '', body)
    response.end('{}')
  })
  onTestFinished(collector.close)
  vi.stubEnv('TIX_SIGNING_SECRET', SECRET)
  vi.stubEnv('PORT', '0')
  vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', collector.url)
  vi.spyOn(console, 'info').mockImplementation(() => {})
  const { server, stop } = await import('../../examples/opentelemetry.js')
  onTestFinished(() => void process.removeListener('SIGTERM', stop))
  if (!server.listening) await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  expect((await deliver(port, await sign(orderCreated()))).status).toBe(200)
  await stop()
  expect(sent.get('/v1/traces')).toContain('process order.created')
  expect(sent.get('/v1/metrics')).toContain('tix_webhooks.deliveries')
})

test('the dashboard and the alerts query the metrics and labels that there are', async () => {
  const { meterProvider, names, series } = telemetry()
  const options = { secret: SECRET, onError: () => {} }
  const throwing = () => {
    throw new Error('full')
  }
  const putOff = () => {
    throw new RetryLater({ afterSeconds: 1 })
  }
  for (const handler of [() => {}, throwing, putOff]) {
    const on = { 'order.created': handler }
    const receiver = createReceiver(instrument({ ...options, on }, { meterProvider }))
    const { header, body } = await sign(orderCreated())
    await receiver.receive({ header, body, request: undefined })
  }
  // As the collector's Prometheus exporter names them.
  const known = new Map<string, Set<string>>()
  for (const name of await names()) {
    const labels = (await series(name)).flatMap(({ attributes }) => Object.keys(attributes))
    const base = name.replaceAll('.', '_')
    const all = name === 'tix_webhooks.deliveries' ? ['_total'] : ['_seconds_bucket', '_seconds_count']
    for (const suffix of all) known.set(base + suffix, new Set(labels.map((one) => one.replaceAll('.', '_'))))
  }
  const dashboard = JSON.parse(readFileSync(`${ROOT}examples/grafana-dashboard.json`, 'utf8'))
  const queries: string[] = dashboard.panels.flatMap(({ targets }: { targets: { expr: string }[] }) =>
    targets.map(({ expr }) => expr),
  )
  const alerts =
    snippetsOf('docs/production.md', 'yaml')
      .join('')
      .match(/(?<=expr: ).*/g) ?? []
  expect([queries.length, alerts.length]).toEqual([7, 3])
  for (const query of [...queries, ...alerts]) {
    const metric = /\b\w+_(total|bucket|count)\b/.exec(query)?.[0] ?? ''
    expect([...known.keys()]).toContain(metric)
    const labels = query.match(/\b(tix_webhooks|messaging|error)_\w+/g)?.filter((name) => name !== metric)
    for (const label of labels ?? []) if (!known.has(label)) expect(known.get(metric)).toContain(label)
  }
})

test('onDelivery alone feeds prom-client and pino', async () => {
  vi.stubEnv('TIX_SIGNING_SECRET', SECRET)
  vi.stubGlobal('handleOrder', () => {})
  vi.spyOn(process.stdout, 'write').mockReturnValue(true)
  const [code = ''] = snippetsOf('docs/production.md', 'ts').filter((one) => one.includes('prom-client'))
  const { write, remove } = snippetsFolder()
  onTestFinished(remove)
  const { POST } = await import(/* @vite-ignore */ write('snippet', code))
  const response: Response = await POST(requestOf(await sign(orderCreated())))
  expect(await response.json()).toEqual({ outcome: 'handled' })
  expect(await register.metrics()).toContain('tix_deliveries_total{outcome="handled",code=""} 1')
})
