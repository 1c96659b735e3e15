import ts from 'typescript'
import { expect, test } from 'vitest'
import { DOORS_OF_TESTING, filesIn, isUnder, refused } from '../support/import-law.js'
import { nodesIn, nodesOf } from '../support/source.js'

const files = filesIn('cli')

/** The names of the process, whoever calls it. */
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

/** Open to the command line: the entries of the other rooms, and single files that it shares with them. */
const OPEN = [
  'sandbox/index.ts',
  ...DOORS_OF_TESTING,
  'src/index.ts',
  'sandbox/service/assumptions.ts',
  'sandbox/domain/text/nearest-name.ts',
  'sandbox/time/duration.ts',
  'sandbox/engine/hints.ts',
  'sandbox/engine/network/http-sender.ts',
  'sandbox/engine/kinds.ts',
  'sandbox/engine/schedule.ts',
  'sandbox/engine/network/plain-url.ts',
  'sandbox/engine/network/send.ts',
  'sandbox/engine/network/transport.ts',
  'sandbox/http/control/delivery-json.ts',
  'sandbox/lib/own-file.ts',
  'sandbox/service/payload-changes.ts',
  'sandbox/sandbox.ts',
  'sandbox/lib/version.ts',
  'src/signature/hmac.ts',
]
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
])('would be found out: %s', (code) => {
  expect(usesOfProcess(nodesIn(code))).not.toEqual([])
})

test('the command line imports its own rooms, the entries of others, and what is shared', () => {
  const isAllowed = (_: string, { target }: { readonly target: string }): boolean =>
    isUnder(target, ['cli/', ...OPEN]) || target.startsWith('node:') || LIBRARIES.includes(target)
  expect(refused(files, isAllowed)).toEqual([])
})

test('no file of it is longer than one can hold in mind, and none has `any`', () => {
  const linesOf = (file: string): number => [...nodesOf(file)][0]?.getSourceFile().getLineStarts().length ?? 0
  expect(files.filter((file) => linesOf(file) > MAX_LINES)).toEqual([])
  const hasAny = (file: string): boolean =>
    [...nodesOf(file)].some(({ kind }) => kind === ts.SyntaxKind.AnyKeyword)
  expect(files.filter(hasAny)).toEqual([])
})
