import { memoryFailures, type WebhookOptions } from 'tix-webhooks'
import { describe, expect, test, vi } from 'vitest'
import { orderCreated } from '../../../support/deliveries.js'
import { failing as failingWith, ORDER, slowFailures } from '../../../support/failing-receiver.js'
import { deferred, never, throws } from '../../../support/promises.js'
import { advance, useVirtualTime } from '../../../support/virtual-time.js'

useVirtualTime()

const failing = (options: Partial<WebhookOptions> = {}) => failingWith(options, 'the printer is out of paper')

describe('a backend of failures that fails', () => {
  const broken: readonly [string, () => never | Promise<never>][] = [
    ['throws', throws(new Error('down: password=hunter2'))],
    ['never answers', () => never() as Promise<never>],
  ]

  test.each(broken)('changes no answer, and is reported, if it %s', async (_, fail) => {
    const failures = { ...memoryFailures(), keep: fail, get: fail, delete: fail }
    const { handler, send, reports } = failing({ failures })
    const first = send(ORDER)
    await advance(15)
    expect(await first).toMatchObject({ outcome: 'failed' })
    expect(reports.map(({ error }) => error.code ?? error.message).sort()).toEqual([
      'not_kept',
      'not_kept',
      'the printer is out of paper',
    ])
    handler.mockImplementation(() => {})
    // After a call that took too long there is a pause.
    await advance(10)
    const second = send(ORDER)
    await advance(10)
    expect(await second).toEqual({ outcome: 'handled' })
    expect(reports.slice(3).map(({ error }) => error.code)).toEqual(['not_kept', 'not_kept'])
  })
})

test('a look-up that hangs leaves the handler time to run, and the answer comes by the deadline', async () => {
  const failures = { ...memoryFailures(), get: never as never }
  const { handler, send } = failing({ failures, timeoutSeconds: 1 })
  handler.mockImplementation(() => {})
  const answered = send(ORDER)
  await advance(1)
  expect(await answered).toEqual({ outcome: 'handled' })
  expect(handler).toHaveBeenCalledOnce()
  await advance(2)
})

test('after a look-up that took too long, none is made for ten seconds, and it is reported once', async () => {
  const base = memoryFailures()
  const get = vi.fn(base.get).mockImplementationOnce(never)
  const { handler, send, reports } = failing({ failures: { ...base, get } })
  handler.mockImplementation(() => {})
  const first = send(ORDER)
  await advance(2)
  expect(await first).toEqual({ outcome: 'handled' })
  for (let i = 0; i < 5; i++) {
    expect(await send(orderCreated({ id: `ord_2${i}` }))).toEqual({ outcome: 'handled' })
  }
  expect(get).toHaveBeenCalledTimes(1)
  expect(reports.map(({ error }) => error.code)).toEqual(['not_kept'])
  await advance(10)
  await send(orderCreated({ id: 'ord_3' }))
  expect(get).toHaveBeenCalledTimes(2)
})

test('a look-up that is late because the event loop was blocked is made again: a parked event stays parked', async () => {
  const base = memoryFailures()
  const get = vi.fn(base.get)
  const { handler, send } = failing({ failures: { ...base, get }, parkAfter: { attempts: 1 } })
  expect(await send(ORDER)).toMatchObject({ outcome: 'parked' })
  get.mockImplementationOnce(() => {
    vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 3_000)
    return never() as never
  })
  const sent = send(ORDER)
  await advance(2)
  expect(await sent).toMatchObject({ outcome: 'parked' })
  vi.restoreAllMocks()
  expect(handler).toHaveBeenCalledTimes(1)
})

test('a run that is given up has its place until its handler settles, though its failure is kept', async () => {
  const running = deferred()
  const { failures, handler, send } = failing({ concurrency: 1, maxRunSeconds: 5 })
  handler.mockImplementation(() => running.promise)
  const given = send(ORDER)
  await advance(5)
  expect(await given).toMatchObject({ code: 'given_up' })
  expect(await failures.count()).toBe(1)
  const other = send(orderCreated({ id: 'ord_2' }))
  await advance(6)
  expect(await other).toMatchObject({ outcome: 'overloaded' })
  running.resolve()
  await advance(1)
})

test('an event that fails gives its place back before it is kept', async () => {
  const failures = { ...memoryFailures(), keep: never as never }
  const { handler, send } = failing({ failures, concurrency: 1 })
  const failed = send(ORDER)
  await advance(0.1)
  handler.mockImplementation(() => {})
  expect(await send(orderCreated({ id: 'ord_2' }))).toEqual({ outcome: 'handled' })
  await advance(2)
  expect(await failed).toMatchObject({ outcome: 'failed' })
  await advance(10)
})

test('a backend that is slow, as in a flood, keeps the failure after the answer, and nothing is reported', async () => {
  const { failures, finish } = slowFailures()
  const { send, reports } = failing({ failures })
  const sent = send(ORDER)
  await advance(2)
  expect(await sent).toMatchObject({ outcome: 'failed' })
  await advance(5)
  finish()
  await advance(1)
  expect(await failures.count()).toBe(1)
  expect(reports.map(({ error }) => error.message)).toEqual(['the printer is out of paper'])
})
