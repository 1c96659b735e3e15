import { AsyncLocalStorage } from 'node:async_hooks'
import { createSandbox } from 'tix-webhooks-sandbox'
import { beforeEach, expect, onTestFinished, test } from 'vitest'

const tenant = new AsyncLocalStorage<string>()
let seen: (string | undefined)[]
beforeEach(() => {
  seen = []
})

/** A sandbox whose receiver notes the context that it is called in. */
function recording() {
  const sandbox = createSandbox({
    async deliver(request) {
      const context = tenant.getStore()
      const { data } = (await request.json()) as { data: { tenant?: string } }
      seen.push(data.tenant === undefined ? context : `${data.tenant} in ${context}`)
      return new Response(null)
    },
  })
  onTestFinished(() => sandbox.close())
  return sandbox
}

test('a receiver is called in the context of the trigger, even if its turn comes later', async () => {
  const sandbox = recording()
  await tenant.run('A', () => sandbox.trigger('order.created'))
  await tenant.run('B', () => sandbox.trigger('order.created'))
  await tenant.run('C', () => sandbox.trigger('order.created', { repeat: 6 }))
  expect(seen.join(' ')).toBe('A B C C C C C C')
})

// Attempts in progress together are signed in parallel, so they arrive in any order: each must have its own context.

test('a receiver is called in the context of each of several triggers at once', async () => {
  const sandbox = recording()
  const trigger = (name: string) => sandbox.trigger('order.created', { data: { tenant: name } })
  await Promise.all(['A', 'B', 'C'].map((name) => tenant.run(name, () => trigger(name))))
  expect(seen.sort()).toEqual(['A in A', 'B in B', 'C in C'])
})

test('a receiver is called in the context of each of several resends at once', async () => {
  const sandbox = recording()
  const { deliveries } = await sandbox.trigger('order.created')
  seen = []
  const tenants = Array.from({ length: 10 }, (_, index) => String(index))
  const resend = () => sandbox.deliveries.resend(String(deliveries[0]))
  await Promise.all(tenants.map((name) => tenant.run(name, resend)))
  expect(seen.sort()).toEqual(tenants)
})
