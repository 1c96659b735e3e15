import type { AdapterCase } from './adapter-case.js'
import { answerCases } from './answers.js'
import { bodyCases } from './bodies.js'
import { togetherCases } from './concurrency.js'
import { requestCases } from './requests.js'
import { scenarioCases } from './scenario-cases.js'
import { sizeCases } from './sizes.js'

/**
 * The conformance cases of HTTP adapters, whatever their framework. They contain no test runner: loop over them in the one that
 * you have. Each sends whole requests; slow and broken connections are not covered.
 *
 * @example
 * ```ts
 * import test from 'node:test'
 * import { Hono } from 'hono'
 * import { tixWebhooks } from 'tix-webhooks/hono'
 * import { type AdapterHarness, adapterCases } from 'tix-webhooks/testing'
 *
 * const mount: AdapterHarness['mount'] = async (options) => {
 *   const app = new Hono().post('/hooks', tixWebhooks(options))
 *   return {
 *     async send({ toRequest }) {
 *       const response = await app.request(toRequest('/hooks'))
 *       return { status: response.status, headers: response.headers, text: await response.text() }
 *     },
 *     close: async () => {},
 *   }
 * }
 *
 * for (const { name, run } of adapterCases) test(name, () => run({ mount }))
 * ```
 */
export const adapterCases: readonly AdapterCase[] = [
  ...bodyCases,
  ...sizeCases,
  ...requestCases,
  ...answerCases,
  ...togetherCases,
  ...scenarioCases,
]
