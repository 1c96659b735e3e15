import { tixWebhooks } from 'tix-webhooks/fetch'
import { createSandbox, type SandboxOptions } from 'tix-webhooks/sandbox'
import { expect, onTestFinished, test } from 'vitest'
import { SECRET } from '../support/deliveries.js'

function open(options: SandboxOptions = {}) {
  const handled: string[] = []
  const POST = tixWebhooks({
    secret: SECRET,
    on: { 'order.created': (event) => void handled.push(event.data.order.id) },
  })
  const sandbox = createSandbox({ secret: SECRET, deliver: POST, now: '2026-11-20T12:00:00Z', ...options })
  onTestFinished(() => sandbox.close())
  return { sandbox, handled }
}

test('a reset forgets data, deliveries and time, and keeps the endpoints', async () => {
  const { sandbox } = open()
  const [venues, endpoints, now] = [
    sandbox.account.listVenues(),
    sandbox.endpoints.list(),
    sandbox.clock.now(),
  ]
  await sandbox.trigger('order.created')
  await sandbox.clock.advance('72h')
  sandbox.reset()
  expect(sandbox.account.listEvents().data).toEqual([])
  expect(sandbox.deliveries.list()).toEqual([])
  expect([sandbox.account.listVenues(), sandbox.endpoints.list(), sandbox.clock.now()]).toEqual([
    venues,
    endpoints,
    now,
  ])
  expect(sandbox.clock.nextAt).toBeUndefined()
})

test('after a reset, a receiver that goes on running takes events as the new ones that they are', async () => {
  const { sandbox, handled } = open()
  await sandbox.trigger('order.created')
  sandbox.reset()
  await sandbox.trigger('order.created')
  expect(handled).toHaveLength(2)
  expect(new Set(handled).size).toBe(2)
})

test('after a reset with a seed everything comes again, to the byte', async () => {
  const { sandbox } = open({ seed: 3 })
  const run = async () => {
    await sandbox.trigger('order.created', { chain: true, repeat: 2 })
    return sandbox.deliveries.list().map(({ id, message }) => [id, message])
  }
  const first = await run()
  sandbox.reset()
  expect(await run()).toEqual(first)
})

test('a trigger has been answered when it resolves', async () => {
  const { sandbox, handled } = open()
  const { attempts } = await sandbox.trigger('order.created', { repeat: 3 })
  expect(handled).toHaveLength(3)
  expect(attempts.map(({ response }) => response?.status)).toEqual([200, 200, 200])
})

test('a trigger that waits for an answer ends when the sandbox is closed', async () => {
  const { sandbox } = open({ deliver: () => new Promise(() => {}), timeoutSeconds: 0 })
  const triggered = sandbox.trigger('order.created')
  await sandbox.close()
  expect((await triggered).attempts).toEqual([])
  await expect(sandbox.trigger('order.created')).rejects.toThrow('The sandbox is closed: make another one.')
})
