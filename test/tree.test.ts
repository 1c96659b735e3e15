import { readdirSync } from 'node:fs'
import ts from 'typescript'
import { describe, expect, test } from 'vitest'
import { modulesIn, nodesIn, nodesOf, ROOT } from './support/source.js'

// Folder by folder: beside them other tests make hidden ones, and take them away.
const files = [
  ...readdirSync(`${ROOT}test`).filter((name) => name.endsWith('.ts')),
  ...['adapters', 'cli', 'proof', 'sandbox', 'src', 'stores', 'support', 'testing', 'types'].flatMap(
    (folder) => modulesIn(`test/${folder}`).map((name) => `${folder}/${name}.ts`),
  ),
]

/** Who signs without the testing kit: the tests of the signer itself, and of receivers written by hand. */
const SIGNERS = [
  'cli/diagnose/diagnose.properties.test.ts',
  'cli/diagnose/diagnose.test.ts',
  'exports.test.ts',
  'src/option-names.test.ts',
  'src/secrets.test.ts',
  'src/signature-scheme.test.ts',
  'src/signature.test.ts',
  'src/signature.vectors.test.ts',
  'support/consumer/app.ts',
  'support/own-receiver.ts',
  'support/plain-verifier.ts',
]

const COMPARISONS =
  /^(to(Match|Contain|Strict)?(Object|Equal)|toHaveBeen\w*CalledWith|(object|array)Containing)$/

/** Whether a node is a part of the literal around it, rather than given to a call such as `expect.stringMatching()`. */
const isPartOf = ({ parent }: ts.Node): boolean =>
  ts.isPropertyAssignment(parent) ||
  ts.isObjectLiteralExpression(parent) ||
  ts.isArrayLiteralExpression(parent)

/** The regular expressions that a test compares with, as parts of an object. */
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

describe('a regular expression inside an object that is compared, which would match anything,', () => {
  test.each(files)('is not in %s', (file) => {
    expect(comparedRegExps(nodesOf(`test/${file}`))).toEqual([])
  })

  test.each([
    'expect(error).toMatchObject({ message: /gone/ })',
    'await expect(work).rejects.toMatchObject({ cause: { message: /gone/ } })',
    'expect(reports).toEqual([{ code: "a", message: /gone/ }])',
    'expect(reports).toEqual([expect.objectContaining({ message: /gone/ })])',
  ])('would be found: %s', (code) => {
    expect(comparedRegExps(nodesIn(code))).toEqual(['/gone/'])
  })

  test.each([
    'expect(error).toMatchObject({ message: expect.stringMatching(/gone/) })',
    'expect(error.message).toMatch(/gone/)',
    'expect(isKnown(/gone/)).toEqual({ isKnown: true })',
  ])('is not %s', (code) => {
    expect(comparedRegExps(nodesIn(code))).toEqual([])
  })
})

describe('a test that is not about the signer', () => {
  test.each(files.filter((file) => !SIGNERS.includes(file)))(
    'has what it signs from the testing kit: %s',
    (file) => {
      const names = [...nodesOf(`test/${file}`)].filter(ts.isIdentifier).map(({ text }) => text)
      expect(names.filter((name) => name === 'signPayload' || name === 'createHmac')).toEqual([])
    },
  )
})
