import { createSandbox, type Sandbox } from 'tix-webhooks-sandbox'
import { describe, expect, onTestFinished, test } from 'vitest'

/** The methods that take options, as a program without types calls them. */
const METHODS: Readonly<
  Record<string, { names: string; call: (sandbox: Sandbox, options: never) => unknown }>
> = {
  trigger: {
    names: 'set, data, event, chain, scenario, repeat, mode',
    call: (sandbox, options) => sandbox.trigger('order.created', options),
  },
  listen: { names: 'port, host', call: (sandbox, options) => sandbox.listen(options) },
  'deliveries.list': {
    names: 'status, type, endpointId, text, limit',
    call: ({ deliveries }, options) => deliveries.list(options),
  },
  'deliveries.resend': {
    names: 'to',
    call: ({ deliveries }, options) => deliveries.resend('dlv_1', options),
  },
  'faults.add': {
    names: 'path, method, status, delayMs, drop, times',
    call: ({ faults }, options) => faults.add(options),
  },
}

describe.each(Object.entries(METHODS))('%s', (_name, { names, call }) => {
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
