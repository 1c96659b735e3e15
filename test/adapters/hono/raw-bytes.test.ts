import type { Server } from 'node:http'
import { createAdaptorServer } from '@hono/node-server'
import { Hono } from 'hono'
import { tixWebhooks } from 'tix-webhooks/hono'
import { describe, test } from 'vitest'
import { listen } from '../../support/http.js'
import { harnessOf, rawBytesCases } from '../../support/raw-bytes-cases.js'

describe('Hono on a real socket', () => {
  const harness = harnessOf((options) => {
    const app = new Hono()
    app.post('/hooks', tixWebhooks(options))
    return listen(createAdaptorServer(app) as Server)
  })

  test.each(rawBytesCases)('$name', ({ run }) => run(harness))
})
