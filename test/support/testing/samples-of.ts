import fc from 'fast-check'
import { runs } from '../runs.js'

/** Values of an arbitrary, the same ones in each run. */
export function manyOf<Value>(arbitrary: fc.Arbitrary<Value>, numRuns = 400): Value[] {
  return fc.sample(arbitrary, { seed: 20_260_517, numRuns: runs(numRuns) })
}

/** Which labels hold for one value or another, and which for none. */
export function labelsOf<Value>(
  arbitrary: fc.Arbitrary<Value>,
  label: (value: Value) => Readonly<Record<string, boolean>>,
): { found: string[]; missing: string[] } {
  const seen = new Map<string, boolean>()
  for (const value of manyOf(arbitrary)) {
    for (const [name, holds] of Object.entries(label(value)))
      seen.set(name, holds || (seen.get(name) ?? false))
  }
  const names = [...seen.keys()]
  return {
    found: names.filter((name) => seen.get(name)),
    missing: names.filter((name) => !seen.get(name)),
  }
}
