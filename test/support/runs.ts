export const SCALE = Number(process.env.TIX_TEST_SCALE ?? 1)
if (!(SCALE > 0))
  throw new Error(`TIX_TEST_SCALE must be a number above 0, not ${process.env.TIX_TEST_SCALE}`)

/** The number of tries of a property or a random history: the usual number for each commit, times TIX_TEST_SCALE. */
export function runs(usual: number): number {
  return Math.ceil(usual * SCALE)
}
