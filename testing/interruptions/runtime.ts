import { context } from './context.js'

/** A process, as its runtime knows it. */
export interface Owner {
  readonly isAlive: boolean
  readonly nowhere: () => never
  onDeath(act: () => void): void
  timer(ms: number): void
}

type Functions = Record<string, ((...args: unknown[]) => unknown) | undefined>

const CLEARED_BY = {
  setTimeout: 'clearTimeout',
  setInterval: 'clearInterval',
  setImmediate: 'clearImmediate',
}
const PRINTING = ['error', 'warn', 'info', 'log', 'debug']

let users = 0
let restore: () => void = () => {}

/** Until the returned function is called, the timers of each process end with it, and a dead process prints nothing. */
export function watchRuntime(isOwner: (owner: unknown) => owner is Owner): () => void {
  users += 1
  if (users === 1) restore = install(isOwner)
  return () => {
    users -= 1
    if (users === 0) restore()
  }
}

function install(isOwner: (owner: unknown) => owner is Owner): () => void {
  const globals = globalThis as unknown as Functions
  const printing = console as unknown as Functions
  const undo = [
    ...Object.entries(CLEARED_BY).map(([set, clear]) =>
      replace(globals, set, isOwner, (owner, timer, [, ms]) => {
        // Its own counterpart, because a test may install or remove fake timers in between.
        const end = globals[clear]
        owner.onDeath(() => end?.(timer))
        if (set === 'setTimeout') owner.timer(Number(ms ?? 0))
      }),
    ),
    ...PRINTING.map((name) => replace(printing, name, isOwner)),
  ]
  return () => {
    for (const one of undo) one()
  }
}

/** Replaces a function by one that does nothing for a dead process. Its other members, such as that of util.promisify, stay. */
function replace(
  holder: Functions,
  name: string,
  isOwner: (owner: unknown) => owner is Owner,
  called?: (owner: Owner, result: unknown, args: readonly unknown[]) => void,
): () => void {
  const real = holder[name]
  if (real === undefined) return () => {}
  const watched = new Proxy(real, {
    apply(target, self, args) {
      const owner = context().getStore()
      if (!isOwner(owner)) return Reflect.apply(target, self, args)
      if (!owner.isAlive) return owner.nowhere()
      const result: unknown = Reflect.apply(target, self, args)
      called?.(owner, result, args)
      return result
    },
  })
  holder[name] = watched
  return () => {
    if (holder[name] === watched) holder[name] = real
  }
}
