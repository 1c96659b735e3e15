import { transform } from 'esbuild'
import { defineConfig } from 'tsup'
import { ENTRIES } from './build/entries.js'

/** What receives, and what tests it: one core in one chunk, so that an error of one entry is an instance of the class of another. */
export default defineConfig({
  // Subpath = file = feature: the object form gives a flat dist/ of the same names.
  entry: { ...ENTRIES },
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
