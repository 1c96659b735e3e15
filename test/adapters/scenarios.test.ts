import { scenarios } from 'tix-webhooks/testing'
import { expect, onTestFinished, test } from 'vitest'
import { ADAPTERS } from '../support/adapter-harnesses.js'
import { attackedOptions, succeeding } from '../support/attacked.js'
import { SECRET } from '../support/deliveries.js'

// The kind makes no difference to an adapter; events of this one suit all scenarios.
test.each(ADAPTERS)('every scenario is answered, and runs, as it must on %s', async (_, harness) => {
  const { options, runs } = attackedOptions()
  const { send, close } = await harness.mount(options)
  onTestFinished(async () => void (await close()))
  expect(await succeeding(await scenarios('event.published', { secret: SECRET }), { send, runs })).toEqual([])
})
