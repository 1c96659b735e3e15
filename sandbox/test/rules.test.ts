import { readFileSync } from 'node:fs'
import ts from 'typescript'
import { expect, test } from 'vitest'
import { ROOT } from '../../test/support/root.js'
import { modulesIn, nodesOf } from '../../test/support/source.js'

/** A testable rule of the service. A test names it in its title: `[S12] refuses …`. */
interface Rule {
  /** `S…` from the specification, `N…` from an assumption about what it leaves open. Never reused for another rule. */
  readonly id: string
  /** The sections of the specification; for an assumption, its subject. */
  readonly section: string
  readonly says: string
}

const ROW = /^\| ([SN]\d+) \| ([^|]+) \| (.+) \|$/

/** All rules of `sandbox/domain/RULES.md`, each of which a test must name. */
const RULES: readonly Rule[] = readFileSync(`${ROOT}sandbox/domain/RULES.md`, 'utf8')
  .split('\n')
  .flatMap((line) => {
    const [, id, section, says] = ROW.exec(line) ?? []
    return id === undefined || section === undefined || says === undefined ? [] : [{ id, section, says }]
  })

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

test('each rule is in the list once, in its order', () => {
  const ids = RULES.map(({ id }) => id)
  const inOrder = ['S', 'N'].flatMap((letter) =>
    ids.filter((id) => id.startsWith(letter)).map((_, index) => `${letter}${index + 1}`),
  )
  expect(ids).toEqual(inOrder)
  expect(RULES.length).toBeGreaterThan(200)
})

test('each rule is named by the title of a test', () => {
  const known = new Set(named.map(({ id }) => id))
  const missing = RULES.filter(({ id }) => !known.has(id))
  expect(missing.map(({ id, section, says }) => `${id} (${section}) ${says}`)).toEqual([])
})

test('each title names rules that there are', () => {
  const ids = new Set(RULES.map(({ id }) => id))
  expect(named.filter(({ id }) => !ids.has(id))).toEqual([])
})
