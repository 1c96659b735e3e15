import { readdirSync } from 'node:fs'
import ts from 'typescript'
import { describe, expect, test } from 'vitest'
import {
  DOORS_OF_TESTING,
  filesIn,
  isAllowedBy,
  type Named,
  type Room,
  refused,
} from '../support/import-law.js'
import { ROOT } from '../support/root.js'
import { nodesOf } from '../support/source.js'

/** Allowed outside the sandbox: the signer, the checks of options, and the two entries of the testing kit. */
const INWARD = [
  'src/index.ts',
  'src/lib/time/clock.ts',
  'src/lib/describe-type.ts',
  'src/lib/option-names.ts',
  'src/signature/scheme.ts',
  ...DOORS_OF_TESTING,
]

/** Virtual time and random ids: they import nothing of the service. */
const GROUND = ['sandbox/time/', 'sandbox/lib/']

/** The answers of the control API: types alone, shared with the page and the command line. */
const VIEWS = 'sandbox/http/control/views.ts'

/** The folders of the sandbox. `domain` and `engine` do not import each other; `service` puts them together; `http` translates. */
const ROOMS: readonly Room[] = [
  { folder: 'sandbox/time/', ours: ['sandbox/lib/'], theirs: ['ms', 'tinyqueue', 'node:'] },
  { folder: 'sandbox/lib/', ours: INWARD, theirs: ['pure-rand', 'node:'] },
  {
    folder: 'sandbox/domain/',
    ours: GROUND,
    theirs: ['zod', 'mdast-util-from-markdown', 'micromark', 'node:crypto'],
  },
  { folder: 'sandbox/engine/', ours: [...GROUND, ...INWARD], theirs: ['zod', 'p-limit', 'ms', 'node:'] },
  {
    folder: 'sandbox/service/',
    ours: [...GROUND, ...INWARD, 'sandbox/domain/', 'sandbox/engine/', 'sandbox/options.ts'],
    theirs: ['zod', 'node:'],
  },
  { folder: 'sandbox/diagnose/', ours: ['src/index.ts'], theirs: ['node:crypto'] },
  // Code in a browser imports nothing of the rest but the types of the answers: it asks over HTTP.
  { folder: 'sandbox/page/', ours: ['build/page.ts', VIEWS], theirs: ['preact'] },
  {
    folder: 'sandbox/http/',
    ours: [
      ...GROUND,
      ...INWARD,
      'sandbox/domain/',
      'sandbox/engine/',
      'sandbox/service/',
      'sandbox/diagnose/',
      'sandbox/page/page-files.ts',
    ],
    theirs: ['hono', '@hono/node-server', 'zod', 'p-limit', 'node:'],
  },
  { folder: 'sandbox/', ours: ['sandbox/', ...INWARD], theirs: ['node:'] },
]

const files = [...filesIn('sandbox'), ...jsxIn('sandbox/page')]
const isAllowed = (file: string, { target }: Pick<Named, 'target'>): boolean =>
  isAllowedBy(ROOMS, file, target)

function jsxIn(folder: string): string[] {
  const files = readdirSync(`${ROOT}${folder}`, { recursive: true, encoding: 'utf8' })
  return files.filter((file) => file.endsWith('.tsx')).map((file) => `${folder}/${file}`)
}

describe('the sandbox', () => {
  test('imports what each room may, and nothing else', () => {
    expect(refused(files, isAllowed)).toEqual([])
  })

  test.each([
    ['sandbox/domain/account.ts', 'sandbox/engine/engine.ts'],
    ['sandbox/domain/account.ts', 'hono'],
    ['sandbox/domain/account.ts', 'sandbox/service/service.ts'],
    ['sandbox/engine/engine.ts', 'sandbox/domain/account.ts'],
    ['sandbox/engine/engine.ts', 'sandbox/http/app.ts'],
    ['sandbox/engine/engine.ts', 'testing/retries/retry-schedule.ts'],
    ['sandbox/service/service.ts', 'sandbox/http/app.ts'],
    ['sandbox/http/app.ts', 'cli/main.ts'],
    ['sandbox/http/app.ts', 'express'],
    ['sandbox/page/app.tsx', 'sandbox/http/app.ts'],
    ['sandbox/page/app.tsx', 'node:crypto'],
  ])('would be caught: %s imports %s', (file, target) => {
    expect(isAllowed(file, { target })).toBe(false)
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

  test('has no `any`', () => {
    const hasAny = (file: string): boolean =>
      [...nodesOf(file)].some(({ kind }) => kind === ts.SyntaxKind.AnyKeyword)
    expect(files.filter(hasAny)).toEqual([])
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
