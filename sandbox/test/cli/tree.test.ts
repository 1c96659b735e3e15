/** @module-tag slow */
import ts from 'typescript'
import { expect, test } from 'vitest'
import { filesIn, refused } from '../../../test/support/import-law.js'
import { nodesOf } from '../../../test/support/source.js'

const files = filesIn('sandbox/cli')

/** The global names of the process. */
const OF_THE_PROCESS = ['process', 'console']

function usesOfProcess(nodes: Iterable<ts.Node>): string[] {
  return [...nodes]
    .filter(ts.isIdentifier)
    .filter(({ text, parent }) => {
      const isMember = ts.isPropertyAccessExpression(parent) && parent.name.text === text
      return OF_THE_PROCESS.includes(text) && !isMember
    })
    .map(({ text }) => text)
}

test('only bin.ts knows the process', () => {
  const others = files.filter((file) => file !== 'sandbox/cli/bin.ts')
  expect(others.filter((file) => usesOfProcess(nodesOf(file)).length > 0)).toEqual([])
  expect(refused(others, (_, { target }) => target !== 'node:process')).toEqual([])
})
