import { inspect } from 'node:util'
import { attacks, createTestClock, scenarios, type TestDelivery } from 'tix-webhooks/testing'
import { describe, expect, test } from 'vitest'
import { ATTACKED_KINDS } from '../../support/attacked.js'
import { SECRET } from '../../support/deliveries.js'

/** The statuses of the contract: 400 is malformed, 401 unauthenticated, 500 unprocessable, 503 in flight. */
const EXPECTED = {
  'missing header': [[400], 0],
  'malformed header': [[400], 0],
  'tampered byte': [[401], 0],
  're-serialised body': [[401], 0],
  'wrong secret': [[401], 0],
  stale: [[401], 0],
  future: [[401], 0],
  truncated: [[401], 0],
  "other endpoint's secret": [[401], 0],
  'empty body': [[401], 0],
  'not JSON': [[500], 0],
  'not an envelope': [[500], 0],
  duplicate: [[200], 1],
  'concurrent burst': [[200, 503], 1],
  'unknown kind': [[200], 0],
}

describe('the table', () => {
  test.each(ATTACKED_KINDS)(
    'of %s has the names, the statuses and the runs of the contract',
    async (_, make) => {
      const table = await make({ secret: SECRET })
      expect(table.map(({ name, expect: { statuses, runs } }) => [name, [statuses, runs]])).toEqual(
        Object.entries(EXPECTED),
      )
    },
  )

  test('has the deliveries of its scenarios, each under another name', async () => {
    const { now } = createTestClock()
    const data = { order: { id: 'the same in all' } }
    const table = await attacks('order.refunded', { secret: SECRET, now, data })
    const entries = await scenarios('order.refunded', { secret: SECRET, now, data })
    // Each table has events and signatures of its own. A truncated body may end within its time.
    const sent = (deliveries: readonly TestDelivery[]) =>
      deliveries.map(({ body, header }) => [
        body.replaceAll(/"created_at":\s*"[^"]*"?/g, ''),
        header?.split(',').length,
        /t=\d+/.exec(header ?? '')?.[0],
      ])
    for (const { name, deliveries } of table) {
      const scenario = name.toLowerCase().replaceAll(' ', '-').replaceAll("'", '')
      const twin = entries.find((one) => one.name === scenario)
      expect([name, sent(deliveries)]).toEqual([name, sent(twin?.deliveries ?? [])])
    }
  })

  test('sends one after the other, except the burst, which is sent at once, and returns the answers in order', async () => {
    const most: Record<string, number> = {}
    for (const { name, deliver, deliveries } of await attacks('order.created', { secret: SECRET })) {
      let underWay = 0
      most[name] = 0
      const answers = await deliver(async (delivery) => {
        underWay += 1
        most[name] = Math.max(most[name] ?? 0, underWay)
        await new Promise(setImmediate)
        underWay -= 1
        return delivery
      })
      expect(answers).toEqual(deliveries)
    }
    expect(most).toEqual(
      Object.fromEntries(Object.keys(EXPECTED).map((name) => [name, name === 'concurrent burst' ? 12 : 1])),
    )
  })

  test.each([SECRET, Buffer.from(SECRET), [Buffer.from('whsec_old'), SECRET]])(
    'holds no secret, whatever of it is looked at',
    async (secret) => {
      const table = await attacks('order.created', { secret })
      const seen = inspect(table, { depth: Number.POSITIVE_INFINITY, showHidden: true, maxArrayLength: null })
      expect(seen).toContain('concurrent burst')
      for (const form of [
        SECRET,
        SECRET.slice(0, 8),
        inspect(Buffer.from(SECRET)).slice(8, 40),
        'whsec_old',
      ]) {
        expect(seen).not.toContain(form)
      }
    },
  )
})
