// Runs scripts of package.json in parallel, and prints the output of each when it has ended: `node build/at-once.mjs typecheck
// build`.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'

const failed = await Promise.all(
  process.argv.slice(2).map(async (script) => {
    const child = spawn('npm', ['run', '--silent', script], {
      stdio: ['ignore', 'pipe', 'pipe'],
      shell: process.platform === 'win32',
    })
    const [printed, complained, [code]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, 'close'),
    ])
    process.stdout.write(printed)
    process.stderr.write(complained)
    return code === 0 ? [] : [script]
  }),
)
if (failed.flat().length > 0) {
  console.error(`failed: ${failed.flat().join(', ')}`)
  process.exitCode = 1
}
