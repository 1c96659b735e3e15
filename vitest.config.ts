import { fileURLToPath } from 'node:url'
import { configDefaults, defineConfig } from 'vitest/config'

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

export default defineConfig({
  resolve: {
    // The tests import the package by its name, as its users do; the packed package itself is tested by package.test.ts.
    alias: [
      { find: /^tix-webhooks$/, replacement: here('src/index.ts') },
      { find: /^tix-webhooks\/(fetch|node)$/, replacement: here('src/$1.ts') },
      { find: /^tix-webhooks\/testing$/, replacement: here('testing/index.ts') },
      { find: /^tix-webhooks\/testing\/(.+)$/, replacement: here('testing/$1.ts') },
      { find: /^tix-webhooks\/sandbox$/, replacement: here('sandbox/index.ts') },
      { find: /^tix-webhooks\/(.+)$/, replacement: here('adapters/$1.ts') },
    ],
  },
  test: {
    // The tests of types, *.test-d.ts, are checked by `npm run typecheck`.
    include: ['test/**/*.test.ts'],
    // What tests write while they run.
    exclude: [...configDefaults.exclude, 'test/.*/**'],
    // Many tests wait for servers and processes: on the two cores of a CI machine, the default would be one worker.
    maxWorkers: 2,
    globalSetup: here('test/support/servers.ts'),
    testTimeout: 20_000,
    reporters: ['default', ['json', { outputFile: 'test-results.json' }]],
  },
})
