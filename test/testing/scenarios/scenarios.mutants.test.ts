import { type AttackName, SCENARIOS, scenarios } from 'tix-webhooks/testing'
import { describe, expect, test } from 'vitest'
import { succeeding } from '../../support/attacked.js'
import { SECRET } from '../../support/deliveries.js'
import { ownReceiver } from '../../support/own-receiver.js'
import { FAULTY_ACCEPTING } from '../../support/testing/faulty-accepting.js'
import { FAULTY_HANDLING } from '../../support/testing/faulty-handling.js'
import { FAULTY_VERIFYING } from '../../support/testing/faulty-verifying.js'

/** An attack's name as its scenario has it. */
const scenarioOf = (attack: AttackName): string =>
  attack.toLowerCase().replaceAll(' ', '-').replaceAll("'", '')

describe('a receiver written by hand that', () => {
  test.each(
    FAULTY_ACCEPTING.map(([fault, steps, seenBy]) => [fault, seenBy.join(', '), steps, seenBy] as const),
  )('%s is seen by: %s', async (_, __, makeSteps, seenBy) => {
    const table = await scenarios('event.published', { secret: SECRET })
    expect(await succeeding(table, ownReceiver(makeSteps()))).toEqual(seenBy)
  })

  test.each(
    [...FAULTY_VERIFYING, ...FAULTY_HANDLING].map(
      ([fault, steps, seenBy]) => [fault, steps, seenBy] as const,
    ),
  )('%s is seen by the scenarios that are the attacks which see it', async (_, steps, seenBy) => {
    const table = await scenarios('order.created', { secret: SECRET })
    const attacks = table.slice(table.findIndex(({ verdict }) => verdict === 'forged'))
    expect(await succeeding(attacks, ownReceiver(steps))).toEqual(seenBy.map(scenarioOf))
  })

  test('makes no mistake stands them all, in order and in reverse', async () => {
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
