import { AsyncLocalStorage } from 'node:async_hooks'
import { createSandbox } from 'tix-webhooks-sandbox'
import { expect, onTestFinished, test } from 'vitest'

/** A sandbox whose receiver notes the context that it is called in. */
function recording() {
  const tenant = new AsyncLocalStorage<string>()
  const seen: (string | undefined)[] = []
  const sandbox = createSandbox({
    deliver() {
      seen.push(tenant.getStore())
      return new Response(null)
    },
  })
  onTestFinished(() => sandbox.close())
  return { sandbox, tenant, seen }
}

test('a receiver is called in the context of the trigger, even where its turn comes later', async () => {
  const { sandbox, tenant, seen } = recording()
  await tenant.run('A', () => sandbox.trigger('order.created'))
  await tenant.run('B', () => sandbox.trigger('order.created'))
  await tenant.run('C', () => sandbox.trigger('order.created', { repeat: 6 }))
  expect(seen.join(' ')).toBe('A B C C C C C C')
})

// Attempts under way together are signed in parallel, so they arrive in any order: each must have its own context.

test('a receiver is called in the context of each of several triggers at once', async () => {
  const tenant = new AsyncLocalStorage<string>()
  const seen = new Map<unknown, string | undefined>()
  const sandbox = createSandbox({
    async deliver(request) {
      const context = tenant.getStore()
      const { data } = (await request.json()) as { data: { tenant: string } }
      seen.set(data.tenant, context)
      return new Response(null)
    },
  })
  onTestFinished(() => sandbox.close())
  const tenants = ['A', 'B', 'C']
  await Promise.all(
    tenants.map((name) =>
      tenant.run(name, () => sandbox.trigger('order.created', { data: { tenant: name } })),
    ),
  )
  expect(Object.fromEntries(seen)).toEqual({ A: 'A', B: 'B', C: 'C' })
})

test('a receiver is called in the context of each of several resends at once', async () => {
  const { sandbox, tenant, seen } = recording()
  const { deliveries } = await sandbox.trigger('order.created')
  const id = String(deliveries[0])
  seen.length = 0
  const tenants = Array.from({ length: 10 }, (_, index) => String(index))
  await Promise.all(tenants.map((name) => tenant.run(name, () => sandbox.deliveries.resend(id))))
  expect(seen.sort()).toEqual(tenants)
})
