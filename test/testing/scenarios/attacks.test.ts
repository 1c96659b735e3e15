import { inspect } from 'node:util'
import { attacks } from 'tix-webhooks/testing'
import { describe, expect, onTestFinished, test } from 'vitest'
import { ADAPTERS } from '../../support/adapter-harnesses.js'
import { ATTACKED_KINDS, attackedOptions, succeeding } from '../../support/attacked.js'
import { SECRET } from '../../support/deliveries.js'

/** By the contract: 400 is malformed, 401 unauthenticated, 500 unprocessable, 503 in flight. */
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

  test('sends one after the other, except the burst, which is sent at once', async () => {
    const most: Record<string, number> = {}
    for (const { name, deliver } of await attacks('order.created', { secret: SECRET })) {
      let underWay = 0
      most[name] = 0
      await deliver(async () => {
        underWay += 1
        most[name] = Math.max(most[name] ?? 0, underWay)
        await new Promise(setImmediate)
        underWay -= 1
      })
    }
    expect(most).toEqual(
      Object.fromEntries(Object.keys(EXPECTED).map((name) => [name, name === 'concurrent burst' ? 12 : 1])),
    )
  })

  test('gives the answers in the order of the deliveries', async () => {
    for (const { deliver, deliveries } of await attacks('order.created', { secret: SECRET })) {
      expect(await deliver(async (delivery) => delivery)).toEqual(deliveries)
    }
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

describe.each(ADAPTERS)('on %s', (_name, harness) => {
  test.each(ATTACKED_KINDS)('every attack of %s is answered, and runs, as it must', async (_, make) => {
    const { options, runs } = attackedOptions()
    const { send, close } = await harness.mount(options)
    onTestFinished(async () => void (await close()))
    expect(await succeeding(await make({ secret: SECRET }), { send, runs })).toEqual([])
  })
})
