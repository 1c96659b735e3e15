import { readdirSync } from 'node:fs'
import ts from 'typescript'
import { expect, test } from 'vitest'
import { filesIn } from '../support/import-law.js'
import { ROOT } from '../support/root.js'
import { importsOf, nodesOf } from '../support/source.js'

/** The tests of both packages. The first one's folder by folder: tests beside this one create and remove hidden folders. */
const files = readdirSync(`${ROOT}test`)
  .filter((name) => /^\w+$/.test(name))
  .flatMap((folder) => filesIn(`test/${folder}`))
  .concat(filesIn('sandbox/test'))

/** Tests of the signer itself and of hand-written receivers: these sign without the testing kit. */
const SIGNERS = [
  'test/repo/exports.test.ts',
  'sandbox/test/diagnose/diagnose.test.ts',
  'sandbox/test/support/engine-fixture.ts',
  'test/src/lib/option-names.test.ts',
  'test/src/signature/secrets.test.ts',
  'test/src/signature/scheme.test.ts',
  'test/src/signature/signature.test.ts',
  'test/src/signature/signature.vectors.test.ts',
  'test/support/consumer/app.ts',
  'test/support/legacy-receiver.ts',
  'test/support/own-receiver.ts',
]

const COMPARISONS =
  /^(to(Match|Contain|Strict)?(Object|Equal)|toHaveBeen\w*CalledWith|(object|array)Containing)$/

/** Whether a node is part of the literal around it, not an argument of a call such as `expect.stringMatching()`. */
const isPartOf = ({ parent }: ts.Node): boolean =>
  ts.isPropertyAssignment(parent) ||
  ts.isObjectLiteralExpression(parent) ||
  ts.isArrayLiteralExpression(parent)

/** The regular expressions that a test compares with as parts of an object. */
function comparedRegExps(nodes: Iterable<ts.Node>): string[] {
  return [...nodes].filter(ts.isRegularExpressionLiteral).flatMap((literal) => {
    let whole: ts.Node = literal
    while (isPartOf(whole)) whole = whole.parent
    const call = whole.parent
    const isCompared =
      whole !== literal &&
      ts.isCallExpression(call) &&
      ts.isPropertyAccessExpression(call.expression) &&
      COMPARISONS.test(call.expression.name.text)
    return isCompared ? [literal.text] : []
  })
}

test('no test compares with an object that has a regular expression in it, which would match anything', () => {
  const found = files.flatMap((file) =>
    comparedRegExps(nodesOf(file)).map((literal) => `${file}: ${literal}`),
  )
  expect(found).toEqual([])
})

test('only tests that are about the signer sign without the testing kit', () => {
  const isSigning = (file: string): boolean =>
    [...nodesOf(file)].some(
      (node) => ts.isIdentifier(node) && (node.text === 'signPayload' || node.text === 'createHmac'),
    )
  expect(files.filter((file) => isSigning(file) && !SIGNERS.includes(file))).toEqual([])
})

/** The names at the root of a call, such as `test` of `test.each(rows)(…)`. */
function rootOf(node: ts.Node): string {
  if (ts.isPropertyAccessExpression(node) && node.getText() === 'expect.poll') return 'expect.poll'
  if (ts.isCallExpression(node) || ts.isPropertyAccessExpression(node)) return rootOf(node.expression)
  return ts.isIdentifier(node) ? node.text : ''
}

const LIMITED = /^(test|describe|on[A-Z]\w+|(before|after)(All|Each)|expect\.poll)$/

/** The limits of time that a file sets for its tests, hooks and polls. */
function limitsIn(file: string): string[] {
  return [...nodesOf(file)].filter(ts.isCallExpression).flatMap((call) => {
    const ofVitest = /^vi\.(waitFor|waitUntil|setConfig)$/.exec(call.expression.getText())?.[0]
    if (ofVitest !== undefined) return [ofVitest]
    const limits = call.arguments.filter((argument, index) =>
      ts.isObjectLiteralExpression(argument)
        ? argument.properties.some(({ name }) => name?.getText() === 'timeout')
        : index > 0 && ts.isNumericLiteral(argument),
    )
    return LIMITED.test(rootOf(call.expression)) ? limits.map((limit) => limit.getText()) : []
  })
}

test('the limits of time are those of support/patience.ts: a test fails for its property, on a busy machine too', () => {
  const found = files.flatMap((file) => limitsIn(file).map((limit) => `${file}: ${limit}`))
  expect(found).toEqual(['test/support/eventually.ts: vi.waitFor'])
})

test('a test that imports an example runs it in a folder of its own, so that none has left a file in the root', () => {
  const running = files.filter((file) =>
    importsOf(file).some(
      ({ specifier, typeOnly }) => !typeOnly && /^\.\.\/\.\.\/examples\/(?!own-)/.test(specifier),
    ),
  )
  const inOwnFolder = (file: string): boolean =>
    [...nodesOf(file)].some(
      (node) =>
        ts.isCallExpression(node) && /^(inOwnFolder|exampleEnvironment)$/.test(node.expression.getText()),
    )
  expect(running).not.toEqual([])
  expect(running.filter((file) => !inOwnFolder(file))).toEqual([])
  expect(readdirSync(ROOT).filter((name) => /\.db\b/.test(name))).toEqual([])
})
