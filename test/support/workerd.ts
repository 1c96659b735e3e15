import { Miniflare, type WorkerOptions } from 'miniflare'
import { ROOT } from './root.js'
import { workerBundle } from './worker-bundle.js'

/** How users import the package, in a bundle of the sources. */
const ALIAS = {
  'tix-webhooks/testing': `${ROOT}testing/index.ts`,
  'tix-webhooks/fetch': `${ROOT}adapters/fetch.ts`,
  'tix-webhooks/d1': `${ROOT}stores/d1.ts`,
  'tix-webhooks/durable-object': `${ROOT}stores/durable-object.ts`,
  'tix-webhooks/redis': `${ROOT}stores/redis.ts`,
  'tix-webhooks/postgres': `${ROOT}stores/postgres.ts`,
  'tix-webhooks/hono': `${ROOT}adapters/hono.ts`,
  'tix-webhooks': `${ROOT}src/index.ts`,
}

/** A module of the tests, bundled for workerd, whose own modules and Node's stay imports. */
export function bundledWorker(path: string): Promise<string> {
  return workerBundle(`export * from './${path}'; export { default } from './${path}'`, {
    alias: ALIAS,
    minify: false,
    conditions: ['workerd', 'worker', 'browser'],
    external: ['node:*', 'cloudflare:*'],
  })
}

/** A runtime with these Workers, each an isolate of its own. */
export function workerd(
  workers: readonly (WorkerOptions & { readonly name: string })[],
  options: { readonly d1Persist?: string; readonly durableObjectsPersist?: string } = {},
): Miniflare {
  return new Miniflare({
    ...options,
    workers: workers.map((worker) => ({ compatibilityDate: '2026-07-01', ...worker })),
  })
}
