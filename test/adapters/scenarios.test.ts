import { scenarios } from 'tix-webhooks/testing'
import { expect, onTestFinished, test } from 'vitest'
import { ADAPTERS } from '../support/adapter-harnesses.js'
import { SECRET } from '../support/deliveries.js'
import { countingOptions, failing } from '../support/played-scenarios.js'

// The kind makes no difference to an adapter; events of this one suit all scenarios.
test.each(ADAPTERS)('every scenario is answered, and runs, as it must on %s', async (_, harness) => {
  const { options, runs } = countingOptions()
  const { send, close } = await harness.mount(options)
  onTestFinished(async () => void (await close()))
  expect(await failing(await scenarios('event.published', { secret: SECRET }), { send, runs })).toEqual([])
})
