import { transform } from 'esbuild'
import { defineConfig } from 'tsup'

/** What receives, and what tests it: one core in one chunk, so that an error of one entry is an instance of the class of another. */
export default defineConfig({
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
    mysql: 'adapters/mysql.ts',
    sqlite: 'adapters/sqlite.ts',
    opentelemetry: 'adapters/opentelemetry.ts',
    d1: 'adapters/d1.ts',
    'durable-object': 'adapters/durable-object.ts',
    testing: 'testing/index.ts',
    'testing/fast-check': 'testing/fast-check.ts',
  },
  format: ['esm', 'cjs'],
  target: 'es2022',
  platform: 'neutral',
  splitting: true,
  clean: true,
  removeNodeProtocol: false,
  external: [/^node:/],
  // jest.mock without a factory copies the getters of a module that has this mark alone; without it the mock is empty.
  banner: ({ format }) =>
    format === 'cjs' ? { js: "Object.defineProperty(exports, '__esModule', { value: true });" } : {},
  // The package is in every production install: shorter statements, under the same names, and no line that names each source.
  esbuildOptions(options) {
    options.minifySyntax = true
  },
  plugins: [
    {
      // No comments and no white space between tokens: a sixth of the package. Lines stay short, because Node prints the line of an error.
      name: 'lean',
      renderChunk: async (code) => ({
        code: (await transform(code, { minifyWhitespace: true, lineLimit: 140, charset: 'utf8' })).code,
      }),
    },
  ],
  // Rollup then writes the CJS: clean code.
  treeshake: true,
  // tsup sets a baseUrl, which TypeScript 6 deprecates; the paths of our own tsconfig must not leak into the types;
  // and `npm run typecheck` checks the sources.
  dts: { compilerOptions: { ignoreDeprecations: '6.0', paths: {}, noCheck: true } },
})
