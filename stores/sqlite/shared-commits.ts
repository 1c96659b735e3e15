import type { SqliteTable } from './table.js'

interface Step {
  run(): unknown
  resolve(result: unknown): void
  reject(error: unknown): void
}

/** Calls back when this turn of the event loop is over; sooner if the runtime cannot, or a test has faked it: fake timers must not stop the store. */
function atTurnEnd(callback: () => void): void {
  const { setImmediate } = globalThis as { setImmediate?: (callback: () => void) => unknown }
  if (setImmediate === undefined || 'clock' in setImmediate) void Promise.resolve().then(callback)
  else setImmediate(callback)
}

/**
 * Runs steps of one statement or two, each as if in a transaction of its own. Those that arrive in one turn of the event loop are
 * committed together at its end, because a commit waits for the disk; a step that is alone waits for nothing else. A result is given
 * when it is on disk.
 */
export function sharedCommits(table: SqliteTable): <T>(step: () => T) => Promise<T> {
  let waiting: Step[] = []

  function runAll(): void {
    const steps = waiting
    waiting = []
    if (steps.length === 1) {
      steps.forEach(runAlone)
      return
    }
    let hasBegun = false
    try {
      const results = table.transaction(() => {
        hasBegun = true
        return steps.map((step) => step.run())
      })
      for (const [i, step] of steps.entries()) step.resolve(results[i])
    } catch (error) {
      // Nothing of it is kept. One step may have failed them all; but a lock would keep each of them waiting as long as the first.
      if (hasBegun) steps.forEach(runAlone)
      else for (const step of steps) step.reject(error)
    }
  }

  function runAlone(step: Step): void {
    try {
      step.resolve(table.transaction(() => step.run()))
    } catch (error) {
      step.reject(error)
    }
  }

  return (run) =>
    new Promise((resolve, reject) => {
      if (waiting.length === 0) atTurnEnd(runAll)
      waiting.push({ run, resolve: resolve as (result: unknown) => void, reject })
    })
}
