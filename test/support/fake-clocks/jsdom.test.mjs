// @vitest-environment jsdom
import { createSandbox } from 'tix-webhooks-sandbox'
import { test } from 'vitest'
import { report } from './parts.cjs'

test('the sandbox', () => {
  try {
    createSandbox({ secret: 'whsec_test' })
  } catch (error) {
    report({ createSandbox: String(error) })
  }
})
