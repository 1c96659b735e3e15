import { cpSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'tsup'
import { bundledPage } from './build/page.js'

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

export default defineConfig({
  entry: { index: 'index.ts', bin: 'cli/bin.ts' },
  // One copy of the code for both module systems: jest cannot require ES modules, and index.mjs imports this one.
  format: ['cjs'],
  platform: 'node',
  target: 'es2022',
  splitting: true,
  treeshake: true,
  clean: true,
  removeNodeProtocol: false,
  dts: {
    entry: { index: 'index.ts' },
    // tsup sets a baseUrl, which TypeScript 6 deprecates; `npm run typecheck` checks the sources.
    compilerOptions: { ignoreDeprecations: '6.0', noCheck: true },
  },
  esbuildPlugins: [bundledPage()],
  async onSuccess() {
    // Preact is part of the page, and its license requires to be included.
    const preact = dirname(createRequire(import.meta.url).resolve('preact/package.json'))
    cpSync(`${preact}/LICENSE`, here('dist/LICENSE.preact.txt'))
  },
})
