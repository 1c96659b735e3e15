/** @module-tag slow */
import type { Server } from 'node:http'
import { createAdaptorServer } from '@hono/node-server'
import { tixWebhooks } from 'tix-webhooks/fetch'
import { describe, test } from 'vitest'
import { listen } from '../support/http.js'
import { harnessOf, rawBytesCases } from '../support/raw-bytes-cases.js'

describe('a web-standard handler on a real socket', () => {
  const harness = harnessOf((options) => {
    const handle = tixWebhooks(options)
    return listen(createAdaptorServer({ fetch: (request) => handle(request) }) as Server)
  })

  test.each(rawBytesCases)('$name', ({ run }) => run(harness))
})
