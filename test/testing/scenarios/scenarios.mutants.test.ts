/** @module-tag slow */
import { SCENARIOS, type Scenario, scenarios } from 'tix-webhooks/testing'
import { describe, expect, test } from 'vitest'
import { SECRET } from '../../support/deliveries.js'
import { ownReceiver } from '../../support/own-receiver.js'
import { failing } from '../../support/played-scenarios.js'
import { FAULTY_ACCEPTING } from '../../support/testing/faulty-accepting.js'
import { FAULTY_HANDLING } from '../../support/testing/faulty-handling.js'
import { FAULTY_VERIFYING, FIRST_SIGNATURE_ALONE } from '../../support/testing/faulty-verifying.js'

/** The scenarios that come after the genuine ones. */
const laterOf = (table: readonly Scenario[]): readonly Scenario[] =>
  table.slice(table.findIndex(({ verdict }) => verdict === 'forged'))

// Every receiver has a memory of its own, so all of them can be sent the same deliveries.
const ofEvents = await scenarios('event.published', { secret: SECRET })
const ofOrders = await scenarios('order.created', { secret: SECRET })

describe('a receiver written by hand that', () => {
  test.each(
    FAULTY_ACCEPTING.map(([fault, steps, seenBy]) => [fault, seenBy.join(', '), steps, seenBy] as const),
  )('%s is seen by: %s', async (_, __, makeSteps, seenBy) => {
    expect(await failing(ofEvents, ownReceiver(makeSteps()))).toEqual(seenBy)
  })

  test.each(
    [...FAULTY_VERIFYING, ...FAULTY_HANDLING].map(
      ([fault, steps, seenBy]) => [fault, seenBy.join(', '), steps, seenBy] as const,
    ),
  )('%s is seen by: %s', async (_, __, steps, seenBy) => {
    expect(await failing(laterOf(ofOrders), ownReceiver(steps))).toEqual(seenBy)
  })

  test('takes the first v1 alone is seen during a rotation', async () => {
    const table = laterOf(await scenarios('order.created', { secret: ['whsec_old', SECRET] }))
    expect(await failing(table, ownReceiver(FIRST_SIGNATURE_ALONE))).toContain('duplicate')
    expect(await failing(table, ownReceiver())).toEqual([])
  })

  test('makes no mistake passes them all, in order and in reverse', async () => {
    const receiver = ownReceiver()
    for (const kind of ['order.created', 'event.published'] as const) {
      expect(await failing(await scenarios(kind, { secret: SECRET }), receiver)).toEqual([])
      const reversed = [...(await scenarios(kind, { secret: SECRET }))].reverse()
      expect(await failing(reversed, receiver)).toEqual([])
    }
  })
})

test('every scenario has seen a fault', () => {
  const useful = new Set([
    ...FAULTY_ACCEPTING.flatMap(([, , seenBy]) => seenBy),
    ...[...FAULTY_VERIFYING, ...FAULTY_HANDLING].flatMap(([, , seenBy]) => seenBy),
  ])
  expect(SCENARIOS.map(({ name }) => name).filter((name) => !useful.has(name))).toEqual([])
})
