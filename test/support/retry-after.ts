import { expect } from 'vitest'

/** The `retryAfterSeconds` of `unavailable`: spread at random, so that what was refused together does not return together. */
export const SOON: number = expect.toSatisfy((seconds) => seconds >= 5 && seconds <= 15, '5 to 15 seconds')

/** The same as a header. */
export const SOON_HEADER: string = expect.stringMatching(/^([5-9]|1[0-5])$/)
