/** @module-tag slow */
import ts from 'typescript'
import { expect, test } from 'vitest'
import { DOORS_OF_TESTING, filesIn, isUnder, refused } from '../support/import-law.js'
import { nodesIn, nodesOf } from '../support/source.js'

const files = filesIn('cli')

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

/** The entries of the other rooms, and the one door of the sandbox that users do not have. */
const DOORS = ['src/index.ts', 'src/node.ts', 'sandbox/index.ts', 'sandbox/internal.ts', ...DOORS_OF_TESTING]
const LIBRARIES = ['ms', 'picocolors']

const MAX_LINES = 250

test('only bin.ts knows the process', () => {
  const others = files.filter((file) => file !== 'cli/bin.ts')
  expect(others.filter((file) => usesOfProcess(nodesOf(file)).length > 0)).toEqual([])
  expect(refused(others, (_, { target }) => target !== 'node:process')).toEqual([])
})

test.each([
  'process.exit(1)',
  'const { argv } = process',
  'const c = globalThis.console ?? console',
  'console.log("x")',
])('a use of the process would be found: %s', (code) => {
  expect(usesOfProcess(nodesIn(code))).not.toEqual([])
})

test('the command line imports its own files, the doors of the other rooms, and two libraries', () => {
  const isAllowed = (_: string, { target }: { readonly target: string }): boolean =>
    isUnder(target, ['cli/', ...DOORS]) || target.startsWith('node:') || LIBRARIES.includes(target)
  expect(refused(files, isAllowed)).toEqual([])
})

test('no file of it is longer than one can hold in mind, and none has `any`', () => {
  const linesOf = (file: string): number => [...nodesOf(file)][0]?.getSourceFile().getLineStarts().length ?? 0
  expect(files.filter((file) => linesOf(file) > MAX_LINES)).toEqual([])
  const hasAny = (file: string): boolean =>
    [...nodesOf(file)].some(({ kind }) => kind === ts.SyntaxKind.AnyKeyword)
  expect(files.filter(hasAny)).toEqual([])
})
