import { useEffect, useState } from 'preact/hooks'
import { reasonOf } from '../data/reason.js'
import { notifyError } from './notice.js'

/** Loads a value once, and again when an input changes; until then it returns the last one. */
export function useLoaded<Value>(load: () => Promise<Value>, inputs: readonly unknown[]): Value | undefined {
  const [value, setValue] = useState<Value>()
  useEffect(() => {
    let isStale = false
    load().then(
      (loaded) => void (isStale || setValue(() => loaded)),
      (error: unknown) => void (isStale || notifyError(reasonOf(error))),
    )
    return () => {
      isStale = true
    }
  }, inputs)
  return value
}
