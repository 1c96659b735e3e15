import { adapterCases } from 'tix-webhooks/testing'
import { describe, test } from 'vitest'
import { ADAPTERS } from '../support/adapter-harnesses.js'

describe.each(ADAPTERS)('%s', (_, harness) => {
  test.each(adapterCases.map(({ id, name, run }) => [id, name, run] as const))(
    '%s: it %s',
    (_id, _name, run) => run(harness),
  )
})
