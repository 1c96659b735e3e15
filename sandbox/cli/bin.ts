#!/usr/bin/env node
import { setMaxListeners } from 'node:events'
import { fstatSync, statSync } from 'node:fs'
import { MAX_INPUT_BYTES } from './arguments/input.js'
import { EXIT } from './failure.js'
import type { Io, Sink } from './io.js'
import { main } from './main.js'

const stop = new AbortController()
// Each request in flight listens to it.
setMaxListeners(0, stop.signal)

// SIGHUP is what a terminal sends when it is closed.
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(name, () => {
    // A second signal exits at once.
    if (stop.signal.aborted) process.exit(EXIT.interrupted)
    stop.abort()
  })
}

/** The output that could not be written, on a full disk say. */
let lost: NodeJS.WriteStream | undefined

function broken(stream: NodeJS.WriteStream, error: NodeJS.ErrnoException): void {
  // EPIPE (`| head`) and EIO (a closed terminal) are normal ends; any other error is a failure.
  if (error.code !== 'EPIPE' && error.code !== 'EIO' && lost === undefined) {
    lost = stream
    process.exitCode = EXIT.failed
    otherOf(stream).write(`The output cannot be written: ${error.message}\n`)
  }
  stop.abort()
}

const otherOf = (stream: NodeJS.WriteStream): NodeJS.WriteStream =>
  stream === process.stdout ? process.stderr : process.stdout

// The inodes of some file systems are larger than a number is exact.
const EXACT = { bigint: true } as const

function sinkOf(stream: NodeJS.WriteStream & { readonly fd: number }): Sink {
  stream.on('error', (error) => broken(stream, error))
  return {
    write(text) {
      try {
        stream.write(text)
      } catch (error) {
        // A file is written synchronously, which throws in some versions of Node.
        broken(stream, error as NodeJS.ErrnoException)
      }
    },
    get isTTY() {
      return stream.isTTY
    },
    isFile(path) {
      try {
        const [open, named] = [fstatSync(stream.fd, EXACT), statSync(path, EXACT)]
        return open.isFile() && open.dev === named.dev && open.ino === named.ino
      } catch {
        return false
      }
    },
    get columns() {
      return stream.columns
    },
  }
}

const io: Io = {
  stdout: sinkOf(process.stdout),
  stderr: sinkOf(process.stderr),
  stdin: readStdin,
  env: process.env,
  cwd: () => process.cwd(),
  signal: stop.signal,
}

// Not awaited at the top level: the build makes a CommonJS copy of everything, where a top-level await is a syntax error.
void main(process.argv.slice(2), io).then((code) => {
  process.exitCode = lost === undefined ? code : EXIT.failed
  // An interrupted command may have a request in flight, which would keep the process alive.
  if (stop.signal.aborted) otherOf(lost ?? process.stderr).write('', () => process.exit())
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
