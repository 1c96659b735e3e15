// The types of the sandbox import nothing, so those of the ES module serve CommonJS too. tsup would take seconds to make them again.
import { copyFileSync } from 'node:fs'

copyFileSync('dist/sandbox.d.ts', 'dist/sandbox.d.cts')
