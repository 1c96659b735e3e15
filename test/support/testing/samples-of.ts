import fc from 'fast-check'
import { expect } from 'vitest'
import { runs } from '../runs.js'

/** Values of an arbitrary, the same ones in each run. */
export function manyOf<Value>(arbitrary: fc.Arbitrary<Value>, numRuns = 400): Value[] {
  return fc.sample(arbitrary, { seed: 20_260_517, numRuns: runs(numRuns) })
}

/** Expects that each label holds for one value or another. */
export function expectEach<Value>(
  arbitrary: fc.Arbitrary<Value>,
  labelsOf: (value: Value) => Readonly<Record<string, boolean>>,
): void {
  const all = manyOf(arbitrary).map(labelsOf)
  const names = Object.keys(all[0] ?? {})
  expect(names.filter((name) => !all.some((labels) => labels[name]))).toEqual([])
}
