import { expect, test } from 'vitest'
import type { SendResult } from '../../../engine/network/send.js'
import { engineFixture } from '../../support/engine-fixture.js'

const answer = (status: number, body = ''): SendResult => ({
  response: { status, headers: {}, body, truncated: false },
})

test('a resend that fails leaves it parked', async () => {
  let result = answer(200, '{"outcome":"parked"}')
  const { engine, clock, publish } = engineFixture({ send: async () => result })
  const id = publish('order.created')
  await clock.idle()
  result = answer(500)
  await engine.resend(id)
  expect([engine.delivery(id)?.status, engine.parked()]).toEqual(['delivered', 1])
})
