/** @module-tag slow */
import { SCENARIOS, scenarios } from 'tix-webhooks/testing'
import { describe, expect, test } from 'vitest'
import { SECRET } from '../../support/deliveries.js'
import { HONEST, ownReceiver } from '../../support/own-receiver.js'
import { failing } from '../../support/played-scenarios.js'
import { FAULTY_RECEIVERS, FIRST_SIGNATURE_ALONE } from '../../support/testing/faulty-receivers.js'
import { rowsOf } from '../../support/testing/patched.js'

// Every receiver has a memory of its own, so all of them can be sent the same deliveries.
const ofEvents = await scenarios('event.published', { secret: SECRET })
const ofOrders = await scenarios('order.created', { secret: SECRET })
const ROWS = rowsOf(FAULTY_RECEIVERS)

describe('a receiver written by hand', () => {
  test.each(ROWS)('fails these and no others: $name', async ({ seenBy, patch }) => {
    expect(await failing(ofOrders, ownReceiver(patch(HONEST)))).toEqual(seenBy)
  })

  test('that relies on a title is seen by thin', async () => {
    const receiver = ownReceiver({ handle: ({ data }) => data.event?.title.toUpperCase() })
    expect(await failing(ofEvents, receiver)).toEqual(['thin'])
  })

  test('that takes the first v1 alone is seen during a rotation', async () => {
    const table = await scenarios('order.created', { secret: ['whsec_old', SECRET] })
    expect(await failing(table, ownReceiver(FIRST_SIGNATURE_ALONE(HONEST)))).toContain('duplicate')
    expect(await failing(table, ownReceiver())).toEqual([])
  })

  test('that makes no mistake passes them all, in order and in reverse', async () => {
    const receiver = ownReceiver()
    for (const kind of ['order.created', 'event.published'] as const) {
      expect(await failing(await scenarios(kind, { secret: SECRET }), receiver)).toEqual([])
      const reversed = [...(await scenarios(kind, { secret: SECRET }))].reverse()
      expect(await failing(reversed, receiver)).toEqual([])
    }
  })
})

test('every scenario has seen a fault', () => {
  const useful = new Set<string>(['thin', ...ROWS.flatMap(({ seenBy }) => seenBy)])
  expect(SCENARIOS.map(({ name }) => name).filter((name) => !useful.has(name))).toEqual([])
})
