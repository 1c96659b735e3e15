import { createSandbox } from 'tix-webhooks-sandbox'
import { expect, onTestFinished, test } from 'vitest'

test('an error within a delivery is reported as a warning', async () => {
  const warned = new Promise<string>((onWarning) => {
    const sandbox = createSandbox({ secret: 'whsec_test', deliver: () => new Response(null), onWarning })
    onTestFinished(() => sandbox.close())
    sandbox.subscribe(({ what }) => {
      if (what === 'attempt') throw new Error('a listener failed')
    })
    void sandbox.trigger('order.created')
  })
  expect(await warned).toMatch(/^The sandbox failed\. Error: a listener failed/)
})
