import test from 'node:test'
import * as main from 'tix-webhooks'
import * as fetch from 'tix-webhooks/fetch'
import * as testing from 'tix-webhooks/testing'
import * as sandbox from 'tix-webhooks-sandbox'
import parts from './parts.cjs'

test('the parts', async ({ mock }) => {
  mock.timers.enable(JSON.parse(process.env.CLOCK))
  parts.report(await parts.outcomes({ main, fetch, sandbox, testing }))
})
