import { useEffect, useState } from 'preact/hooks'
import { reasonOf } from '../data/reason.js'
import { complain } from './notice.js'

/** What is asked for once, and again when one of the inputs is another one; until then, what there was. */
export function useLoaded<Value>(load: () => Promise<Value>, inputs: readonly unknown[]): Value | undefined {
  const [value, setValue] = useState<Value>()
  useEffect(() => {
    let isStale = false
    load().then(
      (loaded) => void (isStale || setValue(() => loaded)),
      (error: unknown) => void (isStale || complain(reasonOf(error))),
    )
    return () => {
      isStale = true
    }
  }, inputs)
  return value
}
