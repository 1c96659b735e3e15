import { createHook } from 'node:async_hooks'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { SECRET } from '../../../support/deliveries.js'
import { handler, make } from '../../../support/make-receiver.js'
import { schemaOf } from '../../../support/schema-of.js'

test.each([
  ['a secret function', { secret: () => undefined }],
  [
    'a kind from schemas and its group',
    {
      schemas: { 'order.refunded': schemaOf((value) => ({ value })) },
      on: { 'order.refunded': handler, 'order.*': handler },
    },
  ],
  ['the shortest lease', { leaseSeconds: 0.1 }],
  ['the longest namespace', { namespace: 'Aa0._-'.padEnd(64, 'x') }],
  [
    'the longest timers',
    {
      timeoutSeconds: 2_147_483,
      maxRunSeconds: 2_147_483,
      leaseSeconds: 2_147_483,
      retentionSeconds: 2_147_483,
    },
  ],
  [
    'parts of a second',
    { timeoutSeconds: 0.5, leaseSeconds: 0.3, maxRunSeconds: 0.9, toleranceSeconds: 0.1 },
  ],
])('a receiver is made with %s', (_, options) => {
  expect(make(options)).toMatchObject({ headerName: 'x-service-signature' })
})

test('making a receiver does nothing random, timed or asynchronous: some runtimes refuse it outside of a request', () => {
  const spies = [
    vi.spyOn(crypto, 'randomUUID'),
    vi.spyOn(crypto, 'getRandomValues'),
    vi.spyOn(Math, 'random'),
    vi.spyOn(Date, 'now'),
    vi.spyOn(performance, 'now'),
  ]
  const asked = vi.fn()
  const started: string[] = []
  // Node's own record of timers, promises, random bytes and so on.
  const hook = createHook({ init: (_, type) => started.push(type) }).enable()

  make({ secret: asked, now: asked, key: asked })
  make({ secret: [SECRET, new Uint8Array([1, 2, 3])], onDelivery: asked, onError: asked })

  hook.disable()
  expect(started).toEqual([])
  for (const spy of [...spies, asked]) expect(spy).not.toHaveBeenCalled()
  vi.restoreAllMocks()
})

describe('the warning that handled events are remembered in memory alone', () => {
  beforeEach(() => {
    vi.resetModules()
    vi.spyOn(console, 'warn').mockImplementation(() => {})
  })

  afterEach(() => {
    vi.unstubAllEnvs()
    vi.unstubAllGlobals()
    vi.restoreAllMocks()
  })

  /** The package as a fresh process loads it. */
  async function fresh() {
    const { createReceiver, memoryStore } = await import('tix-webhooks')
    const options = { secret: SECRET, on: { 'order.created': handler } }
    return {
      withoutStore: () => createReceiver(options),
      withStore: () => createReceiver({ ...options, store: memoryStore(), namespace: 'orders' }),
    }
  }

  test('is given once in production, and says what to pass', async () => {
    vi.stubEnv('NODE_ENV', 'production')
    const { withoutStore } = await fresh()
    withoutStore()
    withoutStore()
    expect(console.warn).toHaveBeenCalledOnce()
    expect(console.warn).toHaveBeenCalledWith(
      expect.stringMatching(/no store is given.*Pass a store or an inbox, and a namespace.*memoryStore\(\)/),
    )
  })

  test.each(['development', 'test', ''])('is not given when NODE_ENV is "%s"', async (value) => {
    vi.stubEnv('NODE_ENV', value)
    const { withoutStore } = await fresh()
    withoutStore()
    expect(console.warn).not.toHaveBeenCalled()
  })

  test('is not given where there is no process at all', async () => {
    const { withoutStore } = await fresh()
    vi.stubGlobal('process', undefined)
    withoutStore()
    vi.unstubAllGlobals()
    expect(console.warn).not.toHaveBeenCalled()
  })
})
