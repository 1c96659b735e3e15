import { useEffect, useState } from 'preact/hooks'
import type { ClockView } from './views.js'

let atMs = Date.now()
let isFrozen = true
let receivedMs = 0
const listeners = new Set<() => void>()

const redraw = (): void => {
  for (const listener of listeners) listener()
}

/** Sets the clock to the state that the sandbox sent. Between two states it advances here. */
export function setClock({ now, frozen }: Pick<ClockView, 'now' | 'frozen'>): void {
  atMs = Date.parse(now)
  isFrozen = frozen
  receivedMs = performance.now()
  redraw()
}

function virtualNow(): number {
  return isFrozen ? atMs : atMs + performance.now() - receivedMs
}

setInterval(() => {
  if (!isFrozen && document.visibilityState === 'visible') redraw()
}, 1000)

/** Something that depends on the virtual time. If its result is the same as before, nothing is drawn. */
export function useVirtual<Value extends string | number>(read: (nowMs: number) => Value): Value {
  const [, setValue] = useState(() => read(virtualNow()))
  useEffect(() => {
    const change = (): void => setValue(read(virtualNow()))
    listeners.add(change)
    change()
    return () => void listeners.delete(change)
  })
  return read(virtualNow())
}
