import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { problemsOf } from '../support/compile.js'
import { modulesIn, ROOT } from '../support/source.js'

/** The examples in the docblocks of a file, types and constants included. */
function examplesIn(name: string): [string, string][] {
  const text = readFileSync(`${ROOT}testing/${name}.ts`, 'utf8')
  const blocks = [...text.matchAll(/@example\n \* ```ts\n(.*?)\n \* ```/gs)]
  return blocks.map(([, code = ''], index) => [`${name}-${index + 1}`, code.replaceAll(/^ \* ?/gm, '')])
}

test('the examples of the testing kit compile as they stand, under strict', () => {
  const examples = modulesIn('testing').flatMap(examplesIn)
  expect(examples.map(([name]) => name)).toEqual(['store-case-1', 'store-case-2', 'store-cases-1'])
  expect(problemsOf(Object.fromEntries(examples))).toEqual([])
}, 60_000)
