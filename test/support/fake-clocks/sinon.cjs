const { install } = require('@sinonjs/fake-timers')
const modules = {
  main: require('tix-webhooks'),
  fetch: require('tix-webhooks/fetch'),
  sandbox: require('tix-webhooks-sandbox'),
  testing: require('tix-webhooks/testing'),
}
const { outcomes, report } = require('./parts.cjs')

const clock = install(JSON.parse(process.env.CLOCK))
outcomes(modules, JSON.parse(process.env.OMITTED)).then((ends) => {
  clock.uninstall()
  report(ends)
})
