import { request } from 'node:http'
import type { DeliveryRecord } from 'tix-webhooks'
import { signedDelivery } from 'tix-webhooks/testing'
import { expect, test, vi } from 'vitest'
import { SERVERS } from '../support/adapter-harnesses.js'
import { atOnce } from '../support/at-once.js'
import { SECRET } from '../support/deliveries.js'
import { listen, post } from '../support/http.js'
import { deferred, turns } from '../support/promises.js'
import { SOON_HEADER } from '../support/retry-after.js'

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
    expect(headers['retry-after']).toEqual(SOON_HEADER)
    work.resolve()
    expect((await running).text).toBe('{"outcome":"handled"}')
    expect((await send('waits')).text).toBe('{"outcome":"handled"}')
    expect(records.map(({ outcome }) => outcome)).toEqual(['overloaded', 'handled', 'handled'])
    expect(onError).not.toHaveBeenCalled()
    await close()
  }))

test('what waits for a place runs though its client leaves, and gives the place back, in each framework', () =>
  atOnce(rows, async ({ start }) => {
    const [work, started, waiting] = [deferred(), deferred(), deferred()]
    const records: DeliveryRecord[] = []
    const runs: string[] = []
    const server = await start({
      secret: SECRET,
      concurrency: 1,
      // The last step before a place is taken.
      key: (event) => {
        const { id } = (event.data as { order: { id: string } }).order
        if (id === 'leaves') waiting.resolve()
        return id
      },
      on: {
        'order.created': async (event) => {
          runs.push(event.data.order.id)
          started.resolve()
          await work.promise
        },
      },
      onDelivery: (record) => records.push(record),
    })
    const { port, close } = await listen(server)
    const delivery = (id: string) =>
      signedDelivery('order.created', { secret: SECRET, data: { order: { id } } })
    const running = post(port, await delivery('runs'))
    await started.promise
    const { headers, body } = await delivery('leaves')
    const leaving = request({ port, method: 'POST', path: '/hooks', headers })
    leaving.on('error', () => {})
    leaving.end(body)
    await waiting.promise
    leaving.destroy()
    // Until the server knows.
    await turns(20)
    work.resolve()
    expect((await running).text).toBe('{"outcome":"handled"}')
    expect((await post(port, await delivery('comes'))).text).toBe('{"outcome":"handled"}')
    expect(runs).toEqual(['runs', 'leaves', 'comes'])
    expect(records.map(({ outcome }) => outcome)).toEqual(['handled', 'handled', 'handled'])
    await close()
  }))
