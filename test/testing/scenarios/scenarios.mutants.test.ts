/** @module-tag slow */
import { type AttackName, SCENARIOS, type Scenario, scenarios } from 'tix-webhooks/testing'
import { describe, expect, test } from 'vitest'
import { succeeding } from '../../support/attacked.js'
import { SECRET } from '../../support/deliveries.js'
import { ownReceiver } from '../../support/own-receiver.js'
import { FAULTY_ACCEPTING } from '../../support/testing/faulty-accepting.js'
import { FAULTY_HANDLING } from '../../support/testing/faulty-handling.js'
import { FAULTY_VERIFYING, FIRST_SIGNATURE_ALONE } from '../../support/testing/faulty-verifying.js'

/** An attack's name as its scenario has it. */
const scenarioOf = (attack: AttackName): string =>
  attack.toLowerCase().replaceAll(' ', '-').replaceAll("'", '')

/** The scenarios that are attacks: attacks.test.ts shows that their deliveries are the same. */
const attacksOf = (table: readonly Scenario[]): readonly Scenario[] =>
  table.slice(table.findIndex(({ verdict }) => verdict === 'forged'))

// Every receiver has a memory of its own, so all of them can be sent the same deliveries.
const ofEvents = await scenarios('event.published', { secret: SECRET })
const ofOrders = await scenarios('order.created', { secret: SECRET })

describe('a receiver written by hand that', () => {
  test.each(
    FAULTY_ACCEPTING.map(([fault, steps, seenBy]) => [fault, seenBy.join(', '), steps, seenBy] as const),
  )('%s is seen by: %s', async (_, __, makeSteps, seenBy) => {
    expect(await succeeding(ofEvents, ownReceiver(makeSteps()))).toEqual(seenBy)
  })

  test.each(
    [...FAULTY_VERIFYING, ...FAULTY_HANDLING].map(
      ([fault, steps, seenBy]) => [fault, seenBy.join(', '), steps, seenBy] as const,
    ),
  )('%s is seen by: %s', async (_, __, steps, seenBy) => {
    expect(await succeeding(attacksOf(ofOrders), ownReceiver(steps))).toEqual(seenBy.map(scenarioOf))
  })

  test('takes the first v1 alone is seen during a rotation', async () => {
    const table = attacksOf(await scenarios('order.created', { secret: ['whsec_old', SECRET] }))
    expect(await succeeding(table, ownReceiver(FIRST_SIGNATURE_ALONE))).toContain('duplicate')
    expect(await succeeding(table, ownReceiver())).toEqual([])
  })

  test('makes no mistake withstands them all, in order and in reverse', async () => {
    const receiver = ownReceiver()
    for (const kind of ['order.created', 'event.published'] as const) {
      expect(await succeeding(await scenarios(kind, { secret: SECRET }), receiver)).toEqual([])
      const reversed = [...(await scenarios(kind, { secret: SECRET }))].reverse()
      expect(await succeeding(reversed, receiver)).toEqual([])
    }
  })
})

test('every scenario has seen a fault', () => {
  const useful = new Set([
    ...FAULTY_ACCEPTING.flatMap(([, , seenBy]) => seenBy),
    ...[...FAULTY_VERIFYING, ...FAULTY_HANDLING].flatMap(([, , seenBy]) => seenBy.map(scenarioOf)),
  ])
  expect(SCENARIOS.map(({ name }) => name).filter((name) => !useful.has(name))).toEqual([])
})
