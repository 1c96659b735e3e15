import { createSandbox, type Sandbox } from 'tix-webhooks-sandbox'
import { describe, expect, onTestFinished, test } from 'vitest'

type Call = (sandbox: Sandbox, options: never) => unknown

/** The methods that take options, as a program without types calls them. */
describe.each<[string, string, Call]>([
  [
    'trigger',
    'set, data, event, chain, scenario, repeat, mode',
    (sandbox, options) => sandbox.trigger('order.created', options),
  ],
  ['listen', 'port, host', (sandbox, options) => sandbox.listen(options)],
  [
    'deliveries.list',
    'status, type, endpointId, text, limit',
    ({ deliveries }, options) => deliveries.list(options),
  ],
  ['deliveries.resend', 'to', ({ deliveries }, options) => deliveries.resend('dlv_1', options)],
  ['faults.add', 'path, method, status, delayMs, drop, times', ({ faults }, options) => faults.add(options)],
])('%s', (_name, names, call) => {
  test.each([
    [{ scenarios: 'stale', hosts: '0.0.0.0' }, 'There is no option scenarios.'],
    [{ mistake: undefined }, 'There is no option mistake.'],
    [new Map(), 'The options must be an object of'],
    [8080, 'The options must be an object of'],
  ])('refuses %o, and does nothing', async (options, message) => {
    const sandbox = createSandbox({ deliver: () => new Response(null) })
    onTestFinished(() => sandbox.close())
    const called = expect((async () => call(sandbox, options as never))())
    await called.rejects.toThrow(new RegExp(`^${message}.* ${names}\\.$`))
    expect(sandbox.deliveries.counts()).toMatchObject({ pending: 0, delivered: 0 })
    expect(sandbox.faults.list()).toEqual([])
    await sandbox.listen()
  })
})
