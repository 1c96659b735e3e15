import { tixWebhooks } from 'tix-webhooks/fetch'
import { createSandbox, type SandboxOptions } from 'tix-webhooks-sandbox'
import { describe, expect, onTestFinished, test } from 'vitest'
import { SECRET } from '../../test/support/deliveries.js'
import { listen } from '../../test/support/http.js'

function open(options: SandboxOptions = {}) {
  const handled: string[] = []
  const POST = tixWebhooks({
    secret: SECRET,
    on: { 'order.created': (event) => void handled.push(event.data.order.id) },
  })
  const sandbox = createSandbox({
    secret: SECRET,
    deliver: POST,
    startAt: '2026-11-20T12:00:00Z',
    ...options,
  })
  onTestFinished(() => sandbox.close())
  return { sandbox, handled }
}

test('a reset removes data, deliveries and time, and keeps the endpoints', async () => {
  const { sandbox, handled } = open()
  const kept = () => [sandbox.account.listVenues(), sandbox.endpoints.list(), sandbox.clock.now()]
  const before = kept()
  await sandbox.trigger('order.created')
  await sandbox.clock.advance('72h')
  sandbox.reset()
  expect(kept()).toEqual(before)
  expect(sandbox.account.listEvents().data).toEqual([])
  expect(sandbox.deliveries.list()).toEqual([])
  expect(sandbox.clock.nextAtMs).toBeUndefined()
  // A receiver that remembers the first event takes the second for a new one.
  await sandbox.trigger('order.created')
  expect(new Set(handled).size).toBe(2)
})

test('after a reset with a seed everything repeats, to the byte', async () => {
  const { sandbox } = open({ seed: 3 })
  const run = async () => {
    await sandbox.trigger('order.created', { chain: true, repeat: 2 })
    return sandbox.deliveries.list().map(({ id, message }) => [id, message])
  }
  const first = await run()
  sandbox.reset()
  expect(await run()).toEqual(first)
})

describe('with no time-out and a receiver that never answers', () => {
  /** A sandbox whose receiver answers nothing until it is mended. */
  async function hung(way: 'in process' | 'over HTTP') {
    const requests = { count: 0 }
    let isHung = true
    const receiver = await listen((_, response) => {
      requests.count += 1
      if (!isHung) response.writeHead(204).end()
    })
    onTestFinished(() => receiver.close())
    const deliver = (): Response | Promise<Response> => {
      requests.count += 1
      return isHung ? new Promise(() => {}) : new Response(null, { status: 204 })
    }
    const sandbox = createSandbox({
      secret: SECRET,
      timeoutSeconds: 0,
      ...(way === 'in process' ? { deliver } : { endpoints: [{ url: receiver.url }] }),
    })
    onTestFinished(() => sandbox.close())
    const until = async (count: number) => {
      while (requests.count < count) await new Promise((resolve) => setImmediate(resolve))
    }
    const mend = () => {
      isHung = false
    }
    return { sandbox, requests, until, mend }
  }

  test.each(['in process', 'over HTTP'] as const)(
    '[N141] a reset ends the attempts in progress, and all that waited for them, %s',
    async (way) => {
      const { sandbox, until, mend } = await hung(way)
      const triggered = sandbox.trigger('order.created', { repeat: 6 })
      await until(4)
      const [delivery] = sandbox.deliveries.list()
      const waiting = [
        triggered,
        sandbox.clock.advance('72h'),
        sandbox.clock.next(),
        sandbox.settled(),
        sandbox.deliveries.resend(delivery?.id ?? '').catch(() => {}),
      ]
      mend()
      sandbox.reset()
      await Promise.all(waiting)
      expect(sandbox.deliveries.list()).toEqual([])

      await sandbox.trigger('order.created')
      await sandbox.clock.advance('72h')
      expect(sandbox.deliveries.list().map(({ status }) => status)).toEqual(['delivered'])
    },
  )

  test.each(['in process', 'over HTTP'] as const)(
    '[N141] a reset ends a scenario that is not fully sent, %s',
    async (way) => {
      const { sandbox, requests, until } = await hung(way)
      const triggered = sandbox.trigger('order.created', { scenario: 'duplicate', repeat: 3 })
      await until(1)
      sandbox.reset()
      expect((await triggered).attempts).toEqual([])
      await sandbox.clock.advance('1h')
      expect(requests.count).toBe(1)
      expect(sandbox.deliveries.list()).toEqual([])
    },
  )

  test.each(['in process', 'over HTTP'] as const)(
    'closing the sandbox aborts the attempts in progress, and starts no more, %s',
    async (way) => {
      const { sandbox, requests, until } = await hung(way)
      const triggered = sandbox.trigger('order.created', { repeat: 6 })
      await until(4)
      await sandbox.close()
      await triggered
      const errors = () => sandbox.deliveries.list().map(({ attempts: [attempt] }) => attempt?.error?.code)
      await expect.poll(() => errors().sort()).toEqual([...Array(4).fill('broken_off'), undefined, undefined])
      expect(requests.count).toBe(4)
    },
  )
})
