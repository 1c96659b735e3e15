const modules = {
  main: require('tix-webhooks'),
  fetch: require('tix-webhooks/fetch'),
  sandbox: require('tix-webhooks/sandbox'),
  testing: require('tix-webhooks/testing'),
}
const { outcomes, report } = require('./parts.cjs')

test('the parts', async () => {
  jest.useFakeTimers(JSON.parse(process.env.CLOCK))
  report(await outcomes(modules))
}, 120_000)
