#!/usr/bin/env node
import { setMaxListeners } from 'node:events'
import { MAX_INPUT_BYTES } from './input.js'
import { type Io, NOBODY_READS } from './io.js'
import { main } from './main.js'

const INTERRUPTED = 130

const stop = new AbortController()
// Each request under way listens to it.
setMaxListeners(0, stop.signal)

// SIGHUP is what a terminal sends when it is closed.
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(name, () => {
    // The second time, whatever is still going on is not waited for.
    if (stop.signal.aborted) process.exit(INTERRUPTED)
    stop.abort()
  })
}

for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    // A pipe that nobody reads, or a terminal that is gone.
    if (error.code !== 'EPIPE' && error.code !== 'EIO') throw error
    stop.abort(NOBODY_READS)
  })
}

const io: Io = {
  stdout: process.stdout,
  stderr: process.stderr,
  stdin: readStdin,
  env: process.env,
  cwd: () => process.cwd(),
  signal: stop.signal,
}

// Not awaited at the top level: the build makes a CommonJS copy of everything, where that is no syntax.
void main(process.argv.slice(2), io).then((code) => {
  process.exitCode = code
  // What was broken off may have left a request under way, which would keep the process alive.
  if (stop.signal.aborted) process.stdout.write('', () => process.exit())
})

async function readStdin(): Promise<Uint8Array> {
  stop.signal.addEventListener('abort', () => process.stdin.destroy())
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of process.stdin) {
    size += chunk.length
    if (size > MAX_INPUT_BYTES) throw new Error('it holds more than 64 MiB')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
