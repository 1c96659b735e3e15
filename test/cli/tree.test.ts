import ts from 'typescript'
import { describe, expect, test } from 'vitest'
import { importsOf, modulesIn, nodesIn, nodesOf } from '../support/source.js'

const modules = modulesIn('cli')

/** Names of what belongs to the process, whoever calls it. */
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

/** The rooms that the command line may use, by their entries; and single files that it shares with them. */
const ENTRIES = ['sandbox/index.js', 'testing/index.js', 'src/index.js']
const SHARED = [
  'sandbox/assumptions',
  'sandbox/domain/nearest-name',
  'sandbox/duration',
  'sandbox/engine/hints',
  'sandbox/engine/http-sender',
  'sandbox/engine/kinds',
  'sandbox/engine/schedule',
  'sandbox/engine/plain-url',
  'sandbox/engine/send',
  'sandbox/engine/transport',
  'sandbox/http/control/delivery-json',
  'sandbox/own-file',
  'sandbox/payload-changes',
  'sandbox/sandbox',
  'sandbox/version',
  'src/signature/hmac',
]
const LIBRARIES = ['ms', 'picocolors']

describe('a module of the command line', () => {
  test.each(modules.filter((name) => name !== 'bin'))('knows no process: %s', (name) => {
    expect(usesOfProcess(nodesOf(`cli/${name}.ts`))).toEqual([])
    expect(importsOf(`cli/${name}.ts`).filter(({ specifier }) => specifier === 'node:process')).toEqual([])
  })

  test.each([
    'process.exit(1)',
    'const { argv } = process',
    'const c = globalThis.console ?? console',
    'console.log("x")',
  ])('would be found out: %s', (code) => {
    expect(usesOfProcess(nodesIn(code))).not.toEqual([])
  })

  test.each(modules)('imports its own room, the entries of others, and what is shared: %s', (name) => {
    const depth = name.split('/').length
    const up = '../'.repeat(depth)
    const allowed = [...ENTRIES, ...SHARED.map((file) => `${file}.js`)].map((path) => `${up}${path}`)
    const refused = importsOf(`cli/${name}.ts`)
      .map(({ specifier }) => specifier)
      .filter((specifier) => !specifier.startsWith('node:') && !LIBRARIES.includes(specifier))
      .filter((specifier) => !isOwn(specifier, depth) && !allowed.includes(specifier))
    expect(refused).toEqual([])
  })

  test.each(modules)('is no longer than what one can hold in mind, and says nothing of `any`: %s', (name) => {
    const nodes = [...nodesOf(`cli/${name}.ts`)]
    expect(nodes.filter(({ kind }) => kind === ts.SyntaxKind.AnyKeyword)).toEqual([])
    expect(nodes[0]?.getSourceFile().getLineStarts().length).toBeLessThanOrEqual(250)
  })
})

/** Below `cli/`: as many steps up as it lies deep, less one. */
function isOwn(specifier: string, depth: number): boolean {
  const steps = specifier.split('/').filter((step) => step === '..').length
  return specifier.startsWith('.') && steps < depth
}
