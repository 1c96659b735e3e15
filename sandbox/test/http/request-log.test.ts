import { expect, test } from 'vitest'
import { RequestLog } from '../../http/request-log.js'
import type { RequestRecord } from '../../service/request-record.js'

const record = (path: string): RequestRecord => ({
  id: 'req_1',
  at: '2026-11-20T11:24:00.000Z',
  method: 'GET',
  path,
  mode: 'test',
  keyEnd: 'c3d4',
  status: 200,
})

test('has the newest first, and no more than 500', () => {
  const log = new RequestLog()
  for (let index = 0; index < 2345; index++) log.add(record(`/v2/${index}`))
  expect(log.latest(2).map(({ path }) => path)).toEqual(['/v2/2344', '/v2/2343'])
  expect(log.latest(10_000)).toHaveLength(500)
  expect(log.latest(10_000).at(-1)?.path).toBe('/v2/1845')
  log.clear()
  expect(log.latest(10)).toEqual([])
})

test('[N8] keeps no key that a message quotes, and no endless message', () => {
  const log = new RequestLog()
  log.add({ ...record('/v2'), errorMessage: `"sk_live_abcdefgh" is none.${'x'.repeat(5000)}` })
  const [{ errorMessage: message = '' } = {}] = log.latest(1)
  expect(message).toMatch(/^"sk_live_…" is none\.x+$/)
  expect(message).toHaveLength(500)
})

test('[N8] keeps no key that stands in an address, and no endless address', () => {
  const log = new RequestLog()
  log.add(record('/v2/events?api_key=sk_live_abcdefgh&key=SK_test_zyx#sk_test_q'))
  log.add(record(`/v2/${'x'.repeat(5000)}`))
  const [endless, withKeys] = log.latest(2)
  expect(endless?.path).toHaveLength(500)
  expect(withKeys?.path).toBe('/v2/events?api_key=sk_live_…&key=sk_test_…#sk_test_…')
})
