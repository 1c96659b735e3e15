import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { configDefaults, defineConfig } from 'vitest/config'
import { TEST_LIMIT_MS, WAIT_LIMIT_MS } from './test/support/patience.js'

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

/** The tests of both packages. */
const allTests = ['test', 'sandbox/test'].flatMap((folder) =>
  readdirSync(here(folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.test.ts'))
    .map((file) => `${folder}/${file.replaceAll('\\', '/')}`),
)

/**
 * Tests with fake timers. What Node loads meanwhile, such as parts of its streams, keeps them for good, and would never
 * come to an end in the tests after them. Tests with a server fake the clock alone.
 */
const FAKING = allTests.filter((file) => {
  const code = readFileSync(here(file), 'utf8')
  return /FakeTimers|virtual-time/.test(code) && !/on-servers|backends/.test(code)
})

/** Files that `npm run test:unit` leaves out, so that it need not even load them. */
const SLOW = allTests.filter((file) => readFileSync(here(file), 'utf8').includes('@module-tag slow'))

/** It needs a server, as the pages that it runs do. */
const SNIPPETS = 'test/repo/readme.snippets.test.ts'

/** Tests without a server: of the receiver and the kit, and of the parts of adapters and stores that need none. */
const UNIT = [
  'test/{testing,src,adapters/http,stores/lib,stores/sql}/**/*.test.ts',
  'test/adapters/{fetch,node}*.test.ts',
  'sandbox/test/**/*.test.ts',
]

/** Tests of the sandbox's page, in a browser. */
const IN_BROWSER = 'sandbox/test/page/**/*.test.ts'

export default defineConfig({
  resolve: {
    // The tests import the package by its name, as its users do; the packed package itself is tested by package.test.ts.
    alias: [
      { find: /^tix-webhooks$/, replacement: here('src/index.ts') },
      { find: /^tix-webhooks\/testing$/, replacement: here('testing/index.ts') },
      { find: /^tix-webhooks\/testing\/(.+)$/, replacement: here('testing/$1.ts') },
      { find: /^tix-webhooks-sandbox$/, replacement: here('sandbox/index.ts') },
      { find: /^tix-webhooks\/(express|fastify|fetch|hono|node)$/, replacement: here('adapters/$1.ts') },
      { find: /^tix-webhooks\/opentelemetry$/, replacement: here('telemetry/opentelemetry.ts') },
      { find: /^tix-webhooks\/(.+)$/, replacement: here('stores/$1.ts') },
    ],
  },
  test: {
    // What tests write while they run.
    exclude: [...configDefaults.exclude, 'test/.*/**'],
    // Many tests wait for servers and processes: three workers keep the two cores of a CI machine busy. The default is one.
    maxWorkers: 3,
    testTimeout: TEST_LIMIT_MS,
    hookTimeout: TEST_LIMIT_MS,
    expect: { poll: { timeout: WAIT_LIMIT_MS, interval: 20 } },
    // The projects share what was compiled, and so does the next run.
    experimental: { fsModuleCache: true },
    tags: [
      {
        name: 'slow',
        description:
          'Takes over a tenth of a second, or its file takes half a second: not for `npm run test:unit`, which answers while one works.',
      },
    ],
    reporters: ['default', ['json', { outputFile: 'test-results.json' }]],
    // The tests of types, *.test-d.ts, are checked by `npm run typecheck`.
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: UNIT,
          exclude: [...configDefaults.exclude, ...FAKING, ...SLOW, IN_BROWSER],
          // One process for many files, which saves most of their time: a test puts back what it changes.
          isolate: false,
        },
      },
      {
        extends: true,
        test: {
          name: 'unit-slow',
          include: UNIT,
          exclude: [
            ...configDefaults.exclude,
            ...FAKING,
            ...allTests.filter((file) => !SLOW.includes(file)),
            IN_BROWSER,
          ],
          isolate: false,
        },
      },
      {
        extends: true,
        test: { name: 'unit-alone', include: FAKING, pool: 'threads' },
      },
      {
        extends: true,
        test: {
          name: 'servers',
          include: ['test/{adapters,stores,telemetry,proof,examples,support}/**/*.test.ts', SNIPPETS],
          exclude: [...configDefaults.exclude, ...FAKING, ...UNIT],
          isolate: false,
          globalSetup: here('test/support/servers.ts'),
        },
      },
      {
        extends: true,
        test: {
          name: 'browser',
          include: [IN_BROWSER],
          // One process, and so one browser, for all files.
          isolate: false,
          globalSetup: here('test/support/browser.ts'),
        },
      },
      {
        extends: true,
        test: {
          name: 'repo',
          include: ['test/repo/**/*.test.ts'],
          exclude: [...configDefaults.exclude, SNIPPETS],
          isolate: false,
        },
      },
    ],
  },
})
