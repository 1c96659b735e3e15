import * as z from 'zod'
import { durationMs } from '../../time/duration.js'

/** A span of time such as `72h`, as milliseconds; a number is one of seconds. */
export const span = z.unknown().transform((value, context): number => {
  if (typeof value === 'string' || typeof value === 'number') {
    try {
      return durationMs('', typeof value === 'number' ? value * 1000 : value)
    } catch (error) {
      if (!(error instanceof TypeError)) throw error
    }
  }
  context.addIssue({
    code: 'custom',
    message:
      'must be a span of time such as 90s, 5m, 72h or 3d, or a number of seconds, of at most 100 years',
  })
  return z.NEVER
})
