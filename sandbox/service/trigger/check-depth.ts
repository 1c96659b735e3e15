import { Refusal } from '../../domain/refusal.js'

/** The functions that copy and write JSON are recursive: at a few thousand levels they would overflow the stack. */
const MAX_DEPTH = 1000

/**
 * Refuses values that are nested too deep to be sent, such as one that contains itself.
 *
 * @throws Refusal
 */
export function checkDepth(param: 'data' | 'set', value: unknown): void {
  const open: { value: unknown; depth: number }[] = [{ value, depth: 0 }]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { value, depth } = next
    if (typeof value !== 'object' || value === null) continue
    if (depth > MAX_DEPTH) {
      throw new Refusal({
        code: 'parameter_invalid',
        param,
        message: `${param} is nested deeper than ${MAX_DEPTH} levels, or contains itself: it cannot be sent.`,
      })
    }
    for (const inner of Object.values(value)) open.push({ value: inner, depth: depth + 1 })
  }
}
