import { readFileSync } from 'node:fs'
import ts from 'typescript'
import { expect, test } from 'vitest'
import { ROOT } from '../../test/support/root.js'
import { modulesIn, nodesOf } from '../../test/support/source.js'

/**
 * The rules of the service, by their ids: `S…` from the specification, `N…` from an assumption about what it leaves open. A test names
 * each in its title: `[S12] refuses …`. No id is used for another rule later.
 */
const RULES = new Map(
  readFileSync(`${ROOT}sandbox/domain/RULES.md`, 'utf8')
    .split('\n')
    .flatMap((line) => {
      const [, id = '', rule = ''] = /^\| ([SN]\d+) \| (.+ \| .+) \|$/.exec(line) ?? []
      return id === '' ? [] : [[id, rule] as const]
    }),
)

const TEST_CALLS = /^(?:test|it|describe)(?:\.(?:each|for|skipIf|runIf|concurrent|sequential))*$/

/** The name of what is called: `test.each` in `test.each(rows)('…')`, with type arguments or without. */
function calleeName(node: ts.Expression): string {
  if (ts.isCallExpression(node)) return calleeName(node.expression)
  if (ts.isTaggedTemplateExpression(node)) return calleeName(node.tag)
  return node.getText()
}

/** The titles of the tests of a file: those that stand there as text, and what rows of a table put into them. */
function titlesOf(nodes: Iterable<ts.Node>): string[] {
  return [...nodes].filter(ts.isCallExpression).flatMap(({ expression, arguments: [title] }) => {
    const isTitle = title !== undefined && ts.isStringLiteralLike(title)
    return isTitle && TEST_CALLS.test(calleeName(expression)) ? [title.text, ...textsOf(expression)] : []
  })
}

/** The texts of the table of a `test.each(table)`. */
function textsOf(callee: ts.Node): string[] {
  const texts = ts.isCallExpression(callee) ? callee.arguments.flatMap((table) => [...withinOf(table)]) : []
  return texts.filter(ts.isStringLiteralLike).map(({ text }) => text)
}

function* withinOf(node: ts.Node): Generator<ts.Node> {
  yield node
  for (const child of node.getChildren()) yield* withinOf(child)
}

const idsIn = (title: string): string[] => [...title.matchAll(/\[([SN]\d+)\]/g)].map(([, id]) => id ?? '')

const files = modulesIn('sandbox/test')
  .filter((name) => name.endsWith('.test'))
  .map((name) => `sandbox/test/${name}.ts`)
const named = files.flatMap((file) =>
  titlesOf(nodesOf(file)).flatMap((title) => idsIn(title).map((id) => ({ file, title, id }))),
)

test('each rule is in the list, in its order', () => {
  const ids = [...RULES.keys()]
  const inOrder = ['S', 'N'].flatMap((letter) =>
    ids.filter((id) => id.startsWith(letter)).map((_, index) => `${letter}${index + 1}`),
  )
  expect(ids).toEqual(inOrder)
  expect(ids.length).toBeGreaterThan(200)
})

test('each rule is named by the title of a test', () => {
  const known = new Set(named.map(({ id }) => id))
  expect([...RULES].filter(([id]) => !known.has(id))).toEqual([])
})

test('each title names rules that there are', () => {
  expect(named.filter(({ id }) => !RULES.has(id))).toEqual([])
})
