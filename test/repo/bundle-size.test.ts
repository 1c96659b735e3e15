import { expect, test } from 'vitest'
import { gzipped, workerBundle } from '../support/worker-bundle.js'

/**
 * Raised only on purpose: every byte of the receiver is downloaded at each cold start of a Worker. `npm run bench -- --only
 * loading` shows the share of each file. Last by 5,500 bytes for failures and replays.
 */
const MAX_BYTES = 34_700

test('the receiver in a Worker, without Hono, is no larger than it has to be', async () => {
  const code = await workerBundle("export { tixWebhooks } from './adapters/hono.ts'", { external: ['hono'] })
  expect(code, 'is the receiver').toContain('x-service-signature')
  expect(gzipped(code)).toBeLessThanOrEqual(MAX_BYTES)
})
