const modules = {
  main: require('tix-webhooks'),
  fetch: require('tix-webhooks/fetch'),
  sandbox: require('tix-webhooks-sandbox'),
  testing: require('tix-webhooks/testing'),
}
const { outcomes, report } = require('./parts.cjs')

test('the parts', async () => {
  jest.useFakeTimers(JSON.parse(process.env.CLOCK))
  report(await outcomes(modules))
}, 120_000)

// Made like that of jest.mock without a factory, which cannot see getters in a module without the mark of one.
test('a mock of the package is not empty', () => {
  const { createReceiver } = jest.createMockFromModule('tix-webhooks')
  expect(jest.isMockFunction(createReceiver)).toBe(true)
})
