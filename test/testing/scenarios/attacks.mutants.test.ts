import { attacks } from 'tix-webhooks/testing'
import { describe, expect, test } from 'vitest'
import { succeeding } from '../../support/attacked.js'
import { SECRET } from '../../support/deliveries.js'
import { ownReceiver } from '../../support/own-receiver.js'
import { FAULTY_HANDLING } from '../../support/testing/faulty-handling.js'
import { FAULTY_VERIFYING, FIRST_SIGNATURE_ALONE } from '../../support/testing/faulty-verifying.js'

const FAULTS = [...FAULTY_VERIFYING, ...FAULTY_HANDLING]

describe('a receiver written by hand that', () => {
  test.each(FAULTS.map(([fault, steps, seenBy]) => [fault, seenBy.join(', '), steps, seenBy] as const))(
    '%s is seen by: %s',
    async (_, __, steps, seenBy) => {
      const table = await attacks('order.created', { secret: SECRET })
      expect(await succeeding(table, ownReceiver(steps))).toEqual(seenBy)
    },
  )

  test('takes the first v1 alone is seen during a rotation', async () => {
    const table = await attacks('order.created', { secret: ['whsec_old', SECRET] })
    expect(await succeeding(table, ownReceiver(FIRST_SIGNATURE_ALONE))).toContain('duplicate')
    expect(await succeeding(table, ownReceiver())).toEqual([])
  })

  test('makes no mistake withstands them all, in order and in reverse', async () => {
    const receiver = ownReceiver()
    expect(await succeeding(await attacks('order.created', { secret: SECRET }), receiver)).toEqual([])
    const reversed = [...(await attacks('order.created', { secret: SECRET }))].reverse()
    expect(await succeeding(reversed, receiver)).toEqual([])
  })
})

test('every attack has seen a fault', async () => {
  const useful = new Set(FAULTS.flatMap(([, , seenBy]) => seenBy))
  const table = await attacks('order.created', { secret: SECRET })
  expect(table.map(({ name }) => name).filter((name) => !useful.has(name))).toEqual([])
})
