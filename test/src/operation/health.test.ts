import { type IdempotencyStore, StoreError } from 'tix-webhooks'
import { expect, test, vi } from 'vitest'
import { Drain } from '../../../src/operation/drain.js'
import { healthOf } from '../../../src/operation/health.js'
import { deferred, never } from '../../support/promises.js'
import { receiving, storeWith } from '../../support/receiving.js'
import { advance, useVirtualTime } from '../../support/virtual-time.js'

useVirtualTime()

const HEALTHY = { ok: true, problems: [] }

function storeOf(methods: Partial<IdempotencyStore>) {
  const { store, namespace } = storeWith(methods)
  return { store, namespace }
}

function healthWith(check: () => unknown) {
  return receiving(storeOf({ check: check as () => void })).receiver.health()
}

test('a receiver is healthy if its store is, if it cannot be asked, or belongs to a request', async () => {
  await expect(healthWith(async () => 'a result that nobody reads')).resolves.toEqual(HEALTHY)
  await expect(healthWith(() => {})).resolves.toEqual(HEALTHY)
  await expect(receiving({}).receiver.health()).resolves.toEqual(HEALTHY)
  const { store, namespace } = storeOf({ check: never })
  const byRequest = receiving({ store: () => store, namespace })
  await expect(byRequest.receiver.health()).resolves.toEqual(HEALTHY)
})

test('an inbox is asked too', async () => {
  const check = () => Promise.reject(new StoreError('store_unavailable', 'Run inbox.migrate().'))
  const { receiver } = receiving({ inbox: { once: never, check }, namespace: 'orders' })
  await expect(receiver.health()).resolves.toEqual({
    ok: false,
    problems: [{ code: 'store_unavailable', message: 'Run inbox.migrate().' }],
  })
})

test('a check that rejects is a problem without the text of its error', async () => {
  const check = () => Promise.reject(new Error('postgres://app:s3cret@db is down'))
  const { ok, problems } = await healthWith(check)
  expect({ ok, codes: problems.map(({ code }) => code) }).toEqual({ ok: false, codes: ['store_unavailable'] })
  expect(JSON.stringify(problems)).not.toContain('s3cret')
})

test('a check that hangs is a problem after 2 s, and probes share it for a while', async () => {
  const check = vi.fn<() => Promise<void>>(never)
  const health = healthOf(new Drain(), check)
  for (let probe = 0; probe < 4; probe++) {
    const answer = health()
    await advance(2)
    expect((await answer).problems[0]?.message).toMatch(/took longer than 2 s/)
  }
  expect(check).toHaveBeenCalledTimes(1)
  await advance(2)
  check.mockResolvedValue(undefined)
  expect(await health()).toEqual(HEALTHY)
})

test('a probe that began before the drain is answered as draining', async () => {
  const checked = deferred()
  const { receiver } = receiving(storeOf({ check: () => checked.promise }))
  const health = receiver.health()
  const drained = receiver.drain()
  checked.resolve()
  expect(await health).toMatchObject({ ok: false, problems: [{ code: 'draining' }] })
  await drained
})
