/** Cases that run at once must not restore each other's Date. */
let turn: Promise<unknown> = Promise.resolve()

/** Runs the work with a `Date` that is ahead by `skewMs`, or behind if that is negative, as on another host. */
export async function withClock<T>(skewMs: number, work: () => T | Promise<T>): Promise<T> {
  if (skewMs === 0) return work()
  const done = turn.then(() => withSkewedDate(skewMs, work))
  turn = done.catch(() => {})
  return done
}

async function withSkewedDate<T>(skewMs: number, work: () => T | Promise<T>): Promise<T> {
  // That of a fake clock, if there is one.
  const { Date: right } = globalThis
  const now = (): number => right.now() + skewMs
  globalThis.Date = new Proxy(right, {
    construct: (_, args, target) => Reflect.construct(right, args.length === 0 ? [now()] : args, target),
    apply: () => String(new right(now())),
    get: (_, name) => (name === 'now' ? now : Reflect.get(right, name)),
  })
  try {
    return await work()
  } finally {
    globalThis.Date = right
  }
}
