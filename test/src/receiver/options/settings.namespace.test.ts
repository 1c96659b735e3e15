import { memoryStore, type WebhookOptions } from 'tix-webhooks'
import { describe, expect, test, vi } from 'vitest'
import { orderCreated, sign } from '../../../support/deliveries.js'
import { honestInbox } from '../../../support/honest-inbox.js'
import { receiving } from '../../../support/receiving.js'

const SECRETS: Readonly<Record<string, string>> = { a: 'whsec_tenant_a', b: 'whsec_tenant_b' }

/** One endpoint for two tenants, each with its own secret; the request is the tenant's name. */
function byTenant(options: Partial<WebhookOptions> = {}) {
  const runs: unknown[] = []
  const { receiver, records, reports } = receiving({
    secret: (request) => SECRETS[request as string] ?? 'whsec_nobody',
    namespace: (request) => `orders-${request}`,
    on: { 'order.created': (_event, ctx) => runs.push([ctx.request, ctx.key]) },
    ...options,
  })
  const send = async (tenant: string, payload: object) =>
    receiver.receive({
      ...(await sign(payload, { secret: SECRETS[tenant] ?? 'whsec_forged' })),
      request: tenant,
    })
  return { send, runs, records, reports }
}

const order = orderCreated({ id: 'ord_of_b' })

describe('a namespace by tenant', () => {
  test.each<[string, () => Partial<WebhookOptions>]>([
    ['the default store', () => ({})],
    ['a store', () => ({ store: memoryStore() })],
    ['an inbox', () => ({ inbox: honestInbox().inbox as never })],
    ['a key function', () => ({ key: () => 'the same for both' })],
    ['keys that are hashed', () => ({ key: () => 'the same for both'.repeat(20) })],
  ])("keeps a tenant from suppressing another's event, with %s", async (_, options) => {
    const { send, runs } = byTenant(options())
    // An event signed with a tenant's own secret is authentic, even with the id of another tenant's order.
    expect(await send('a', order)).toEqual({ outcome: 'handled' })
    expect(await send('b', order)).toEqual({ outcome: 'handled' })
    expect(await send('b', order)).toEqual({ outcome: 'duplicate' })
    expect(runs).toEqual([
      ['a', expect.stringMatching(/^(orders-a\/order\.created\/|[0-9a-f]{64}$)/)],
      ['b', expect.stringMatching(/^(orders-b\/order\.created\/|[0-9a-f]{64}$)/)],
    ])
  })

  test.each<[string, () => unknown, RegExp]>([
    ['undefined', () => undefined, /returned undefined for this request: it must return 1 to 64 characters/],
    ['an empty string', () => '', /returned an empty string for this request/],
    ['a slash', () => 'a/b', /returned a string for this request: it must return 1 to 64 characters of A-Z/],
    ['65 characters', () => 'x'.repeat(65), /returned a string for this request/],
    ['a number', () => 7, /returned a number for this request/],
    ['a rejected promise', () => Promise.reject(new Error('unheard')), /returned a promise for this request/],
    [
      'nothing, because it throws',
      () => {
        throw new Error('no such tenant')
      },
      /^Your namespace function threw: it must return the namespace/,
    ],
  ])('that is %s makes a delivery misconfigured, and nothing runs', async (_, namespace, message) => {
    const unhandled = vi.fn()
    process.on('unhandledRejection', unhandled)
    const { send, runs, reports, records } = byTenant({ namespace: namespace as () => string })
    expect(await send('a', order)).toMatchObject({ outcome: 'misconfigured', code: 'misconfigured' })
    expect(reports.map(({ error }) => error.message)).toEqual([expect.stringMatching(message)])
    expect(runs).toEqual([])
    expect(records).toHaveLength(1)
    await new Promise(setImmediate)
    process.off('unhandledRejection', unhandled)
    expect(unhandled).not.toHaveBeenCalled()
  })

  test('is asked for at each delivery that is authentic and wanted, and for no other', async () => {
    const namespace = vi.fn(() => 'orders')
    const { send } = byTenant({ namespace })
    await send('a', order)
    await send('a', order)
    await send('a', { ...order, type: 'event.published' })
    await send('nobody', order)
    expect(namespace.mock.calls).toEqual([['a'], ['a']])
  })
})
