import { expect, test } from 'vitest'
import { httpSandbox } from '../support/http-sandbox.js'

test.each([
  ['milliseconds', ['2026-11-20T11:24:00.000Z', '2026-11-20T11:24:00.001Z', '2026-11-20T11:24:01.000Z']],
  ['seconds', ['2026-11-20T11:24:00Z', '2026-11-20T11:24:00Z', '2026-11-20T11:24:01Z']],
])('[N151] created_at is in %s by that assumption', async (precision, expected) => {
  const { service, call } = httpSandbox({ assume: { 'created-at': precision } })
  const trigger = () => call('POST', '/_sandbox/trigger', { body: { kind: 'event.published' } })
  service.engine.createEndpoint({ url: 'http://127.0.0.1:9/hooks' })
  await trigger()
  await trigger()
  await service.clock.advanceBy(1000)
  await trigger()
  const times = service.engine.deliveries().map(({ message }) => JSON.parse(message.body).created_at)
  expect(times.reverse()).toEqual(expected)
})
