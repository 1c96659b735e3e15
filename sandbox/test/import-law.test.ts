import { readdirSync } from 'node:fs'
import ts from 'typescript'
import { describe, expect, test } from 'vitest'
import { filesIn, isAllowedBy, type Named, type Room, refused } from '../../test/support/import-law.js'
import { ROOT } from '../../test/support/root.js'
import { nodesOf } from '../../test/support/source.js'

/** The other package: its public entries, by name, as a stranger imports them. */
const PUBLIC = ['tix-webhooks']

/** Virtual time and random ids: they import nothing of the service. */
const GROUND = ['sandbox/time/', 'sandbox/lib/']

/** The answers of the control API: types alone, shared with the page and the command line. */
const VIEWS = 'sandbox/http/control/views.ts'

/** For the command line: the public entry of the sandbox, and its other door, which users do not have. */
const DOORS = ['sandbox/index.ts', 'sandbox/internal.ts']

/** The folders of the sandbox. `domain` and `engine` do not import each other; `service` puts them together; `http` translates. */
const ROOMS: readonly Room[] = [
  { folder: 'sandbox/time/', ours: ['sandbox/lib/'], theirs: ['ms', 'heap-js', 'node:'] },
  { folder: 'sandbox/lib/', ours: [], theirs: ['pure-rand', 'sandbox/package.json', 'node:'] },
  {
    folder: 'sandbox/domain/',
    ours: GROUND,
    theirs: ['zod', '@lezer/markdown', 'markdown-it', 'node:crypto'],
  },
  { folder: 'sandbox/engine/', ours: GROUND, theirs: [...PUBLIC, 'zod', 'p-limit', 'ms', 'node:'] },
  {
    folder: 'sandbox/service/',
    ours: [...GROUND, 'sandbox/domain/', 'sandbox/engine/'],
    theirs: [...PUBLIC, 'zod', 'node:'],
  },
  { folder: 'sandbox/diagnose/', ours: [], theirs: [...PUBLIC, 'node:crypto'] },
  // Code in a browser imports nothing of the rest but the types of the answers: it asks over HTTP.
  { folder: 'sandbox/page/', ours: ['sandbox/lib/', VIEWS], theirs: ['preact'] },
  {
    folder: 'sandbox/http/',
    ours: [
      ...GROUND,
      'sandbox/domain/',
      'sandbox/engine/',
      'sandbox/service/',
      'sandbox/diagnose/',
      'sandbox/build/page.ts',
    ],
    theirs: [...PUBLIC, 'hono', '@hono/node-server', 'zod', 'node:'],
  },
  { folder: 'sandbox/cli/', ours: DOORS, theirs: [...PUBLIC, 'ms', 'picocolors', 'node:'] },
  { folder: 'sandbox/', ours: ['sandbox/'], theirs: [...PUBLIC, 'node:'] },
]

const files = [...filesIn('sandbox').filter(isShipped), ...jsxIn('sandbox/page')]
const isAllowed = (file: string, { target }: Pick<Named, 'target'>): boolean =>
  isAllowedBy(ROOMS, file, target)

/** Whether the file is source: not a test, and not part of the build. */
function isShipped(file: string): boolean {
  return !/^sandbox\/(test|build)\/|^sandbox\/tsup/.test(file)
}

function jsxIn(folder: string): string[] {
  const files = readdirSync(`${ROOT}${folder}`, { recursive: true, encoding: 'utf8' })
  return files.filter((file) => file.endsWith('.tsx')).map((file) => `${folder}/${file}`)
}

describe('the sandbox', () => {
  test('imports what each room may, and nothing else', () => {
    expect(refused(files, isAllowed)).toEqual([])
  })

  test('shares types alone with its page, which import nothing', () => {
    const statements = [...nodesOf(VIEWS)].filter(
      ({ parent }) => parent !== undefined && ts.isSourceFile(parent),
    )
    const isType = (node: ts.Node): boolean =>
      ts.isInterfaceDeclaration(node) ||
      ts.isTypeAliasDeclaration(node) ||
      node.kind === ts.SyntaxKind.EndOfFileToken
    expect(statements.filter((node) => !isType(node)).map((node) => node.getText())).toEqual([])
    expect(statements.length).toBeGreaterThan(1)
  })

  // sandbox/http/errors.ts is the one place for them.
  test('knows no status of the API in its domain and its engine', () => {
    const inside = files.filter((file) => /^sandbox\/(domain|engine)\//.test(file))
    const found = inside.flatMap((file) =>
      [...nodesOf(file)]
        .filter(ts.isStringLiteral)
        .filter(({ text }) => /^(invalid_request_error|api_error|authentication_error)$/.test(text))
        .map(({ text }) => `${file}: ${text}`),
    )
    expect(found).toEqual([])
  })
})

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

test('only bin.ts of the command line knows the process', { tags: ['slow'] }, () => {
  const others = filesIn('sandbox/cli').filter((file) => file !== 'sandbox/cli/bin.ts')
  expect(others.filter((file) => usesOfProcess(nodesOf(file)).length > 0)).toEqual([])
  expect(refused(others, (_, { target }) => target !== 'node:process')).toEqual([])
})
