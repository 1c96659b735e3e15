import { createServer } from 'node:http'
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
  expect(sandbox.clock.nextAtMs).toBeUndefined()
})

test('after a reset, a receiver that goes on running takes events as the new ones that they are', async () => {
  const { sandbox, handled } = open()
  await sandbox.trigger('order.created')
  sandbox.reset()
  await sandbox.trigger('order.created')
  expect(handled).toHaveLength(2)
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
  /** A sandbox whose first requests hang, and how many came. */
  async function hung(way: 'in process' | 'over HTTP') {
    let isHung = true
    const asked = { count: 0, waiting: new Set<() => void>() }
    const ask = (): void => {
      asked.count += 1
      for (const look of asked.waiting) look()
    }
    const until = (count: number): Promise<void> =>
      new Promise((resolve) => {
        const look = (): void => {
          if (asked.count >= count) resolve()
        }
        asked.waiting.add(look)
        look()
      })
    const deliver = (): Response | Promise<Response> => {
      ask()
      return isHung ? new Promise(() => {}) : new Response(null, { status: 204 })
    }
    const server = createServer((_, response) => {
      ask()
      if (!isHung) response.writeHead(204).end()
    })
    const receiver = await listen(server)
    onTestFinished(() => receiver.close())
    const sandbox = createSandbox({
      secret: SECRET,
      timeoutSeconds: 0,
      ...(way === 'in process' ? { deliver } : { endpoints: [{ url: receiver.url }] }),
    })
    onTestFinished(() => sandbox.close())
    return {
      sandbox,
      asked,
      until,
      mend() {
        isHung = false
      },
    }
  }

  test.each(['in process', 'over HTTP'] as const)(
    '[N141] a reset breaks off what is under way, and all that waited for it ends, %s',
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
    '[N141] a reset breaks off what a scenario had still to send, %s',
    async (way) => {
      const { sandbox, asked, until } = await hung(way)
      const triggered = sandbox.trigger('order.created', { scenario: 'duplicate', repeat: 3 })
      await until(1)
      sandbox.reset()
      expect((await triggered).attempts).toEqual([])
      await sandbox.clock.advance('1h')
      expect(asked.count).toBe(1)
      expect(sandbox.deliveries.list()).toEqual([])
    },
  )

  test('closing the sandbox aborts attempts in progress, and starts no more', async () => {
    const { sandbox, asked, until } = await hung('in process')
    const triggered = sandbox.trigger('order.created', { repeat: 6 })
    await until(4)
    await sandbox.close()
    await triggered
    const errors = () => sandbox.deliveries.list().map(({ attempts: [attempt] }) => attempt?.error?.code)
    await expect.poll(() => errors().sort()).toEqual([...Array(4).fill('broken_off'), undefined, undefined])
    expect(asked.count).toBe(4)
  })
})
