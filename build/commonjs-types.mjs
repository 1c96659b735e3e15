// The types of the sandbox import nothing, so those of the ES module serve CommonJS too. tsup would take seconds to make them again.
import { readFileSync, writeFileSync } from 'node:fs'

const types = readFileSync('dist/sandbox.d.ts', 'utf8')
// An import would load the types of an ES module.
if (/^(?:import|export)\b.*\bfrom\b/m.test(types)) {
  throw new Error(
    'dist/sandbox.d.ts imports something: give the CommonJS build of the sandbox in tsup.config.ts its own dts.',
  )
}
writeFileSync('dist/sandbox.d.cts', types)
