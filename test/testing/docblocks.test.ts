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
  expect(examples.map(([name]) => name).sort()).toEqual(
    [
      'adapter-case-1',
      'adapter-case-2',
      'adapter-cases-1',
      'arbitrary-envelopes-1',
      'arbitrary-envelopes-2',
      'arbitrary-events-1',
      'arbitrary-events-2',
      'arbitrary-events-3',
      'arbitrary-events-4',
      'arbitrary-events-5',
      'arbitrary-events-6',
      'arbitrary-headers-1',
      'arbitrary-hostile-headers-1',
      'arbitrary-signing-1',
      'arbitrary-signing-2',
      'attacks-1',
      'call-handler-1',
      'retries-1',
      'sample-event-1',
      'scenarios-1',
      'scenarios-2',
      'signed-delivery-1',
      'signed-delivery-2',
      'store-case-1',
      'store-case-2',
      'store-cases-1',
      'test-clock-1',
    ].sort(),
  )
  expect(problemsOf(Object.fromEntries(examples))).toEqual([])
}, 60_000)
