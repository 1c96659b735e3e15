import * as main from 'tix-webhooks'
import * as fetch from 'tix-webhooks/fetch'
import * as testing from 'tix-webhooks/testing'
import * as sandbox from 'tix-webhooks-sandbox'
import { test, vi } from 'vitest'
import parts from './parts.cjs'

test('the parts', { timeout: 120_000 }, async () => {
  vi.useFakeTimers(JSON.parse(process.env.CLOCK))
  const outcomes = await parts.outcomes({ main, fetch, sandbox, testing })
  vi.useRealTimers()
  parts.report(outcomes)
})
