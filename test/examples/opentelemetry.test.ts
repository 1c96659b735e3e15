import { register } from 'prom-client'
import { createReceiver, type Ledger, memoryStore, RetryLater } from 'tix-webhooks'
import { instrument } from 'tix-webhooks/opentelemetry'
import { expect, onTestFinished, test, vi } from 'vitest'
import { snippetsFolder } from '../support/compile.js'
import { orderCreated, SECRET, sign } from '../support/deliveries.js'
import { inOwnFolder } from '../support/examples.js'
import { requestOf } from '../support/fetching.js'
import { listen, portOf } from '../support/http.js'
import { readPage } from '../support/pages.js'
import { deliver } from '../support/raw-bytes-harness.js'
import { telemetry } from '../support/telemetry.js'

inOwnFolder()

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
  const port = await portOf(server)
  expect((await deliver(port, await sign(orderCreated()))).status).toBe(200)
  await stop()
  expect(sent.get('/v1/traces')).toContain('process order.created')
  expect(sent.get('/v1/metrics')).toContain('tix_webhooks.deliveries')
})

/** The expressions of the alerts of one group. */
function alertsOf(group: string): string[] {
  const [, rules = ''] = readPage('examples/alerts.yaml').split(`name: ${group}\n`)
  return rules.split('- name:')[0]?.match(/(?<=expr: ).*/g) ?? []
}

/** The metrics and labels of a PromQL query, and the outcomes and codes that it compares with. */
function namesIn(query: string) {
  const compared = [...query.matchAll(/(\w+)\s*(?:=~|!~|!=|=)\s*"([^"]*)"/g)]
  const grouped = [...query.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, names = '']) => names.split(/,\s*/))
  const rest = query.replace(/\{[^}]*\}|\[[^\]]*\]|\bby \([^)]*\)/g, ' ')
  const metrics = (rest.match(/\b[a-z_]\w*\b(?!\s*\()/g) ?? []).filter(
    (name) => !['or', 'unless', 'offset'].includes(name),
  )
  const valuesOf = (name: RegExp) =>
    compared.flatMap(([, label = '', value = '']) => (name.test(label) ? value.split('|') : []))
  return {
    metrics,
    labels: [...compared.map(([, label = '']) => label), ...grouped],
    outcomes: valuesOf(/(^|_)outcome$/),
    codes: valuesOf(/(^|_)code$|^error_type$/).filter((code) => code !== ''),
  }
}

/** The outcomes and the codes by the table of answers in docs/reference.md, which another test compares with the code. */
function outcomesAndCodes(): { outcomes: string[]; codes: string[] } {
  const table = readPage('docs/reference.md').matchAll(/^\| `(\w+)` \| \d{3}.*\|(.*)\|$/gm)
  const rows = [...table].map(([, outcome = '', codes = '']) => ({
    outcome,
    codes: codes.match(/\w+/g) ?? [],
  }))
  return { outcomes: rows.map(({ outcome }) => outcome), codes: rows.flatMap(({ codes }) => codes) }
}

/** Expects that there are the metrics of a PromQL query, and on them its labels. */
function expectKnown(query: string, known: ReadonlyMap<string, ReadonlySet<string>>): void {
  const { metrics, labels, outcomes, codes } = namesIn(query)
  expect(metrics, query).not.toEqual([])
  for (const metric of metrics) {
    expect([...known.keys()]).toContain(metric)
    for (const label of labels) expect([...(known.get(metric) ?? [])], query).toContain(label)
  }
  const all = outcomesAndCodes()
  expect(all.outcomes).toEqual(expect.arrayContaining(outcomes))
  expect(all.codes).toEqual(expect.arrayContaining(codes))
}

test('the dashboard and the alerts query the metrics and labels that there are', async () => {
  const { meterProvider, names, series } = telemetry()
  const options = {
    account: () => ({ id: 'acme', secret: SECRET }),
    store: memoryStore(),
    namespace: 'orders',
    onError: () => {},
  }
  const throwing = () => {
    throw new Error('full')
  }
  const putOff = () => {
    throw new RetryLater({ afterSeconds: 1 })
  }
  for (const handler of [() => {}, throwing, putOff]) {
    const on = { 'order.created': handler }
    const receiver = createReceiver(instrument({ ...options, on }, { meterProvider, accounts: true }))
    const { header, body } = await sign(orderCreated())
    await receiver.receive({ header, body, request: undefined })
  }
  // Metrics by the names that the collector's Prometheus exporter gives them.
  const known = new Map<string, Set<string>>()
  for (const name of await names()) {
    const labels = (await series(name)).flatMap(({ attributes }) => Object.keys(attributes))
    const base = name.replaceAll('.', '_')
    const ofMetric = labels.map((one) => one.replaceAll('.', '_'))
    if (name === 'tix_webhooks.deliveries') known.set(`${base}_total`, new Set(ofMetric))
    else if (name === 'tix_webhooks.failures') known.set(base, new Set(ofMetric))
    else {
      known.set(`${base}_seconds_bucket`, new Set([...ofMetric, 'le']))
      known.set(`${base}_seconds_count`, new Set(ofMetric))
    }
  }
  const dashboard = JSON.parse(readPage('examples/grafana-dashboard.json'))
  const targets: { expr: string; legendFormat?: string }[] = dashboard.panels.flatMap(
    (panel: { targets: object[] }) => panel.targets,
  )
  const alerts = [...alertsOf('tix-webhooks'), ...alertsOf('tix-webhooks-accounts')]
  expect([targets.length, alerts.length]).toEqual([8, 6])
  for (const query of [...targets.map(({ expr }) => expr), ...alerts]) expectKnown(query, known)
  for (const { expr, legendFormat = '' } of targets) {
    const shown = [...legendFormat.matchAll(/{{(\w+)}}/g)].map(([, label]) => label)
    expect(namesIn(expr).labels).toEqual(expect.arrayContaining(shown))
  }
})

test('onDelivery alone feeds prom-client and pino, and the alerts query what it writes', async () => {
  const lines: Record<string, unknown>[] = []
  vi.stubGlobal('stream', { write: (line: string) => lines.push(JSON.parse(line)) })
  vi.stubEnv('TIX_SIGNING_SECRET', SECRET)
  let runs = 0
  // The handler.
  vi.spyOn(console, 'info').mockImplementation(() => {
    if (runs++ > 0) throw new Error('full')
  })
  vi.spyOn(console, 'error').mockImplementation(() => {})
  const { write, remove } = snippetsFolder()
  onTestFinished(remove)
  const code = readPage('examples/prom-client.ts').replace('pino()', 'pino({}, stream)')
  const { POST, store } = await import(/* @vite-ignore */ write('prom-client', code))
  for (const outcome of ['handled', 'failed']) {
    const response: Response = await POST(requestOf(await sign(orderCreated())))
    expect(await response.json()).toEqual({ outcome })
  }
  const metrics = await register.metrics()
  expect(metrics).toContain('tix_deliveries_total{outcome="handled",code=""} 1')
  expect(metrics).toContain('tix_handled_attempts_count 1')
  expect(metrics).toContain('tix_parked_events 0')
  const count = vi.spyOn(store.ledger as Ledger, 'count')
  count.mockImplementation(async (filter) => (filter?.state === 'parked' ? 1 : 0))
  expect(await register.metrics()).toContain('tix_parked_events 1')
  count.mockRejectedValue(new Error('down'))
  expect(await register.metrics()).toContain('tix_parked_events 1')

  const known = new Map<string, Set<string>>()
  for (const [, name = '', labels = ''] of metrics.matchAll(/^(\w+)(?:\{(.*)\})? /gm)) {
    known.set(
      name,
      new Set([...(known.get(name) ?? []), ...[...labels.matchAll(/(\w+)="/g)].map(([, one = '']) => one)]),
    )
  }
  const alerts = alertsOf('tix-webhooks-prom-client')
  expect(alerts).toHaveLength(5)
  for (const query of alerts) expectKnown(query, known)
  expect(lines.at(-1)).toMatchObject({ msg: 'webhook', outcome: 'failed' })
})
