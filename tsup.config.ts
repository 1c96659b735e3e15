import { defineConfig, type Options } from 'tsup'
import { bundledPage } from './build/page.js'
import { thirdPartyLicenses } from './build/third-party-licenses.js'

const shared: Options = {
  target: 'es2022',
  platform: 'neutral',
  splitting: true,
  removeNodeProtocol: false,
  external: [/^node:/],
}

// tsup sets a baseUrl, which TypeScript 6 deprecates; the paths of our own tsconfig must not leak into the types;
// and `npm run typecheck` checks the sources, so that each of the three programs of the build need not.
const dts = { compilerOptions: { ignoreDeprecations: '6.0', paths: {}, noCheck: true } }

/** What receives, and what tests it: one core in one chunk, so that an error of one entry is an instance of the class of another. */
const library: Options = {
  ...shared,
  dts,
  // Subpath = file = feature: the object form gives a flat dist/ of the same names.
  entry: {
    index: 'src/index.ts',
    fetch: 'src/fetch.ts',
    node: 'src/node.ts',
    express: 'adapters/express.ts',
    fastify: 'adapters/fastify.ts',
    hono: 'adapters/hono.ts',
    redis: 'adapters/redis.ts',
    postgres: 'adapters/postgres.ts',
    sqlite: 'adapters/sqlite.ts',
    opentelemetry: 'adapters/opentelemetry.ts',
    d1: 'adapters/d1.ts',
    'durable-object': 'adapters/durable-object.ts',
    testing: 'testing/index.ts',
    'testing/fast-check': 'testing/fast-check.ts',
  },
  format: ['esm', 'cjs'],
  // jest.mock without a factory copies the getters of a module that has this mark alone; without it the mock is empty.
  banner: ({ format }) =>
    format === 'cjs' ? { js: "Object.defineProperty(exports, '__esModule', { value: true });" } : {},
  // Rollup then writes the CJS: clean code, and source maps without absolute paths.
  treeshake: true,
  sourcemap: true,
}

/** The local service brings its libraries along. It is built apart, so that nothing of it can get into what receives. */
const bundled: Options = {
  ...shared,
  platform: 'node',
  // A peer of the library, and so left out of the build unless it is named.
  noExternal: ['hono'],
}

const sandbox = { sandbox: 'sandbox/index.ts' }

export default defineConfig([
  library,
  {
    ...bundled,
    // The command is run, never imported: one format will do, and no types.
    entry: { ...sandbox, cli: 'cli/bin.ts' },
    format: ['esm'],
    dts: { ...dts, entry: sandbox },
    esbuildPlugins: [
      bundledPage(),
      thirdPartyLicenses('dist/THIRD-PARTY-LICENSES.txt', ['node_modules/preact']),
    ],
  },
  // Its types are copied by build/commonjs-types.mjs.
  { ...bundled, entry: sandbox, format: ['cjs'], esbuildPlugins: [bundledPage()] },
])
