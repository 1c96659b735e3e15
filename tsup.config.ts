import { defineConfig } from 'tsup'

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
    sqlite: 'adapters/sqlite.ts',
    testing: 'testing/index.ts',
    'testing/fast-check': 'testing/fast-check.ts',
  },
  format: ['esm', 'cjs'],
  target: 'es2022',
  platform: 'neutral',
  // tsup sets a baseUrl, which TypeScript 6 deprecates; and the paths of our own tsconfig must not leak into the types.
  dts: { compilerOptions: { ignoreDeprecations: '6.0', paths: {} } },
  // One core in one chunk, so that an error of one entry is an instance of the class of another.
  splitting: true,
  // Rollup then writes the CJS: clean code, and source maps without absolute paths.
  treeshake: true,
  sourcemap: true,
  clean: true,
  removeNodeProtocol: false,
  external: [/^node:/],
})
