import { onTestFinished } from 'vitest'
import { type Argv, type Ran, recordsIn, run, type Surroundings, wordsOf } from './cli.js'

/** A command that runs until it is stopped. */
export interface Session {
  /** Its output so far, as JSON. */
  records(): Record<string, unknown>[]
  /** The first matching record, once it exists. */
  record(fits: (record: Record<string, unknown>) => boolean): Promise<Record<string, unknown>>
  /** Resolves when this many of its records match. */
  count(fits: (record: Record<string, unknown>) => boolean, count: number): Promise<void>
  /** Ctrl-C. */
  stop(): Promise<Ran>
  readonly said: { stdout: string; stderr: string }
}

/** Starts a command with `--json`, and stops it when the test ends. */
export function begin(argv: Argv, surroundings: Surroundings = {}): Session {
  const stopped = new AbortController()
  const said = { stdout: '', stderr: '' }
  const waiting = new Set<() => void>()
  let ended: Ran | undefined
  const ran = run([...wordsOf(argv), '--json'], {
    ...surroundings,
    signal: stopped.signal,
    onOutput(all) {
      Object.assign(said, all)
      for (const look of waiting) look()
    },
  }).then((result) => {
    ended = result
    for (const look of waiting) look()
    return result
  })
  const whole = (): string => said.stdout.slice(0, said.stdout.lastIndexOf('\n') + 1)
  const until = (isThere: () => boolean): Promise<void> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        if (!isThere() && ended === undefined) return
        waiting.delete(look)
        if (isThere()) resolve()
        else reject(new Error(`it ended with ${ended?.code}: ${ended?.stderr}${ended?.stdout}`))
      }
      waiting.add(look)
      look()
    })
  const session: Session = {
    said,
    records: () => recordsIn(whole()),
    async record(fits) {
      await until(() => session.records().some(fits))
      return session.records().find(fits) ?? {}
    },
    count: (fits, count) => until(() => session.records().filter(fits).length >= count),
    stop() {
      stopped.abort()
      return ran
    },
  }
  onTestFinished(async () => {
    await session.stop()
  })
  return session
}

/** Whether a record is about this event. */
export const isEvent =
  (event: string) =>
  (record: Record<string, unknown>): boolean =>
    record.event === event
