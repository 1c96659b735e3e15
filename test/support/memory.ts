import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { turns } from './promises.js'

// Exposes the garbage collector, so that retained memory is measured and not garbage.
setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')

/** The memory of objects and buffers that are still referenced, in bytes. */
export function usedMemory(): number {
  collectGarbage()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}

/** The memory above `before`; measured again while it is over the limit, as buffers are freed in the background. */
export async function heldBeyond(before: number, limit: number): Promise<number> {
  let held = usedMemory() - before
  for (let attempt = 0; attempt < 20 && held > limit; attempt++) {
    await turns(1)
    held = usedMemory() - before
  }
  return held
}
