/** The process that the running code belongs to, across its promises and timers. */
interface Context {
  run<Result>(owner: unknown, act: () => Result): Result
  getStore(): unknown
}

interface Runtime {
  readonly process?: {
    getBuiltinModule?(name: 'node:async_hooks'): { AsyncLocalStorage: new () => Context } | undefined
  }
}

/** A runtime without it cannot know, and the timers of a dead process keep running. */
const unknown: Context = { run: (_, act) => act(), getStore: () => undefined }

function openContext(): Context {
  const hooks = (globalThis as Runtime).process?.getBuiltinModule?.('node:async_hooks')
  return hooks === undefined ? unknown : new hooks.AsyncLocalStorage()
}

let opened: Context | undefined

/** Not at import: a test may load this module in a realm that it sets up later. */
export function context(): Context {
  opened ??= openContext()
  return opened
}
