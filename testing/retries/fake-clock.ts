/**
 * Whether a fake clock (sinon's by default) holds back `queueMicrotask`. A body that Node makes of a text or of bytes then comes
 * again and again, since Node ends it by that function: whoever reads to its end fills the memory.
 */
export function holdsBackMicrotasks(): boolean {
  return isFake(globalThis.queueMicrotask)
}

/** Whether a function of time is one of sinon's, on which jest and vitest build theirs: nobody calls back unless its clock is told to tick. */
export function isFake(timer: unknown): boolean {
  return typeof timer === 'function' && 'clock' in timer
}
