import type { DeliveryRecord } from 'tix-webhooks'
import { signedDelivery } from 'tix-webhooks/testing'
import { expect, test, vi } from 'vitest'
import { SERVERS } from '../support/adapter-harnesses.js'
import { atOnce } from '../support/at-once.js'
import { SECRET } from '../support/deliveries.js'
import { listen, post } from '../support/http.js'
import { deferred } from '../support/promises.js'

const rows = SERVERS.map(([name, start]) => ({ name, start }))

test('what finds no place among the runs is refused for a while, and served once there is one, in each framework', () =>
  atOnce(rows, async ({ start }) => {
    const [work, started] = [deferred(), deferred()]
    const records: DeliveryRecord[] = []
    const onError = vi.fn()
    const server = await start({
      secret: SECRET,
      concurrency: 1,
      // Half of it is waited for.
      timeoutSeconds: 1.5,
      on: {
        'order.created': () => {
          started.resolve()
          return work.promise
        },
      },
      onDelivery: (record) => records.push(record),
      onError,
    })
    const { port, close } = await listen(server)
    const send = async (id: string) =>
      post(port, await signedDelivery('order.created', { secret: SECRET, data: { order: { id } } }))
    const running = send('runs')
    await started.promise
    const { status, text, headers } = await send('waits')
    expect([status, text]).toEqual([503, '{"outcome":"overloaded"}'])
    expect(headers['retry-after']).toMatch(/^([5-9]|[12]\d|30)$/)
    work.resolve()
    expect((await running).text).toBe('{"outcome":"handled"}')
    expect((await send('waits')).text).toBe('{"outcome":"handled"}')
    expect(records.map(({ outcome }) => outcome)).toEqual(['overloaded', 'handled', 'handled'])
    expect(onError).not.toHaveBeenCalled()
    await close()
  }))
