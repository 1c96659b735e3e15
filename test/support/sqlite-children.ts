import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { buildSync } from 'esbuild'
import { afterAll, beforeAll } from 'vitest'
import { ROOT } from './root.js'
import { makeFolder, removeFolder } from './server-process.js'
import type { ChildReply, ChildTask } from './sqlite-tasks.js'

/** A process that runs a task on a database file. */
export interface Child {
  /** Its next message; rejects when it exits without one. */
  reply(): Promise<ChildReply>
  /** Lets it continue. */
  go(): void
  /** The signal that ended it, or its exit code. */
  readonly ended: Promise<NodeJS.Signals | number | null>
}

/** Processes that a test file starts, and that end with it. Compiled once, because each kill takes a new process. */
export function useChildren(): { start(task: ChildTask): Child } {
  let folder = ''
  const running = new Set<ChildProcess>()

  beforeAll(async () => {
    folder = await makeFolder()
    buildSync({
      entryPoints: [join(ROOT, 'test/support/sqlite-child.ts')],
      outfile: join(folder, 'child.mjs'),
      tsconfig: join(ROOT, 'tsconfig.json'),
      bundle: true,
      platform: 'node',
      format: 'esm',
      target: 'node20',
      logLevel: 'warning',
    })
  })
  afterAll(async () => {
    for (const child of running) child.kill('SIGKILL')
    await removeFolder(folder)
  })

  return {
    start(task) {
      const child = fork(join(folder, 'child.mjs'), [JSON.stringify(task)], { cwd: ROOT, execArgv: [] })
      running.add(child)
      // The channel is closed when all its messages have been read.
      const ended = Promise.all([once(child, 'exit'), once(child, 'disconnect')]).then(([[code, signal]]) => {
        running.delete(child)
        return signal ?? code
      })
      return {
        ended,
        go: () => void child.send('go'),
        async reply() {
          const early = ended.then((how) => {
            throw new Error(`A child ended with ${how} before it replied.`)
          })
          const [message] = await Promise.race([once(child, 'message'), early])
          return message as ChildReply
        },
      }
    },
  }
}

/** Starts this many of them, and releases them together when all are ready. */
export async function raceChildren(start: () => Child, count: number): Promise<ChildReply[]> {
  const children = Array.from({ length: count }, start)
  await Promise.all(children.map((child) => child.reply()))
  const replies = children.map((child) => child.reply())
  for (const child of children) child.go()
  const all = await Promise.all(replies)
  await Promise.all(children.map(({ ended }) => ended))
  return all
}
