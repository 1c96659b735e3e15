import { tixWebhooks } from 'tix-webhooks/fastify'
import { describe, test } from 'vitest'
import { FASTIFY_VERSIONS } from '../../support/fastify.js'
import { listen } from '../../support/http.js'
import { harnessOf, rawBytesCases } from '../../support/raw-bytes-cases.js'

describe.each(FASTIFY_VERSIONS)('Fastify $version on a real socket', ({ fastify }) => {
  const harness = harnessOf(async (options) => {
    const app = fastify()
    app.post('/hooks', tixWebhooks(options))
    await app.ready()
    return listen(app.server)
  })

  test.each(rawBytesCases)('$name', ({ run }) => run(harness))
})
