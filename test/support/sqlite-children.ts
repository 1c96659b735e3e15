import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { afterAll } from 'vitest'
import { useBundle } from './bundle.js'
import { ROOT } from './root.js'

/** The points at which a child kills itself, as a power cut would. */
export const KILL_POINTS = [
  'in the handler',
  'before the effects',
  'after the effects',
  'before COMMIT',
  'after COMMIT',
  'after ctx.tx.commit',
] as const
export type KillPoint = (typeof KILL_POINTS)[number]

/** The task of a child process on a database file. */
export type ChildTask = { readonly driver: string; readonly file: string } & (
  | { readonly task: 'claim'; readonly token: string; readonly keys: readonly string[] }
  | { readonly task: 'migrate' }
  | { readonly task: 'hold'; readonly by: 'writing' | 'reading' }
  /** Its files may have no more than this. */
  | { readonly task: 'fill'; readonly kilobytes: number }
  | {
      readonly task: 'deliver'
      readonly payload: object
      readonly killAt: KillPoint
      /** Whether its handler throws. */
      readonly fails?: boolean
      /** SQL that the app runs before anything else. */
      readonly setup?: string
      /** How often the effect is written. Default 1. */
      readonly times?: number
    }
)

export interface ChildReply {
  readonly claimed?: readonly string[]
  /** What the store and the inbox said before and after a delivery failed: of a delivery, and of a check. */
  readonly said?: Readonly<Record<'before' | 'after', readonly string[]>>
  readonly error?: string
}

/** A process that runs a task on a database file. */
export interface Child {
  /** Its next message; rejects when it exits without one. */
  reply(): Promise<ChildReply>
  /** Lets it continue. */
  go(): void
  /** The signal that ended it, or its exit code. */
  readonly ended: Promise<NodeJS.Signals | number | null>
}

/** Processes that a test file starts, and that end with it. */
export function useChildren(): { start(task: ChildTask): Child } {
  const bundled = useBundle('test/support/sqlite-child.ts')
  const running = new Set<ChildProcess>()
  afterAll(() => {
    for (const child of running) child.kill('SIGKILL')
  })

  return {
    start(task) {
      const limited =
        task.task === 'fill'
          ? {
              execPath: 'sh',
              execArgv: ['-c', `ulimit -f ${2 * task.kilobytes}; exec "$0" "$@"`, process.execPath],
            }
          : { execArgv: [] }
      const child = fork(bundled(), [JSON.stringify(task)], { cwd: ROOT, ...limited })
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
