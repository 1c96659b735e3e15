import ts from 'typescript'
import { describe, expect, test } from 'vitest'
import { type Import, importsOf, modulesIn, nodesOf } from './support/source.js'

/** What a room may import, beside itself. A folder ends in a slash, and stands for all in it; so does a package for its subpaths. */
interface Room {
  readonly folder: string
  readonly ours: readonly string[]
  readonly theirs: readonly string[]
}

/** What the sandbox takes from inside: the one signer, what checks options, and the kit's schedule, dates and scenarios. */
const INWARD = [
  'src/index',
  'src/lib/clock',
  'src/lib/describe-type',
  'src/lib/option-names',
  'src/signature/scheme',
  'testing/index',
  'testing/dates',
  'testing/fake-clock',
  'testing/retry-schedule',
]

/** Virtual time, ids, and what reads a text: they know of nothing. */
const GROUND = ['clock', 'job-queue', 'under-way', 'random', 'duration', 'version', 'assumptions'].map(
  (name) => `sandbox/${name}`,
)

const ROOMS: readonly Room[] = [
  { folder: 'sandbox/domain/', ours: GROUND, theirs: ['zod', 'mdast-util-from-markdown', 'node:crypto'] },
  {
    folder: 'sandbox/engine/',
    ours: [...GROUND, ...INWARD],
    theirs: ['zod', 'p-limit', 'ms', 'node:'],
  },
  {
    folder: 'sandbox/http/',
    ours: [...INWARD, 'sandbox/'],
    theirs: ['hono', '@hono/node-server', 'zod', 'p-limit', 'node:'],
  },
]

/** The files between the rooms: they put the service together. */
const HALL: Room = {
  folder: 'sandbox/',
  ours: [...INWARD, 'sandbox/domain/', 'sandbox/engine/'],
  theirs: ['zod', 'ms', 'tinyqueue', 'pure-rand', 'node:'],
}

/** The one file between the rooms that opens the door to the network, and those that tell of it as types. */
const OPENS_HTTP = 'sandbox/sandbox.ts'
const TELLS_OF_HTTP = ['sandbox/index.ts', 'sandbox/options.ts']

const modules = modulesIn('sandbox').map((name) => `sandbox/${name}.ts`)

const roomOf = (file: string): Room => ROOMS.find(({ folder }) => file.startsWith(folder)) ?? HALL

/** What a specifier means: a module of ours from the root, without its ending; or the package. */
function targetOf(file: string, specifier: string): string {
  if (!specifier.startsWith('.')) return specifier
  return new URL(specifier, `file:///${file}`).pathname.slice(1).replace(/\.js$/, '')
}

function isAllowed(file: string, { specifier, typeOnly }: Import): boolean {
  const room = roomOf(file)
  const target = targetOf(file, specifier)
  const isHall = room === HALL && !target.slice(HALL.folder.length).includes('/')
  if (target.startsWith(room.folder) && (room !== HALL || isHall)) return true
  const opens = file === OPENS_HTTP || (typeOnly && TELLS_OF_HTTP.includes(file))
  if (opens && target.startsWith('sandbox/http/')) return true
  if (specifier.startsWith('.')) {
    return room.ours.some((one) => (one.endsWith('/') ? target.startsWith(one) : target === one))
  }
  return room.theirs.some((one) => target === one || target.startsWith(one.endsWith(':') ? one : `${one}/`))
}

describe('the sandbox', () => {
  test.each(modules)('%s imports what its room may, and nothing else', (file) => {
    expect(importsOf(file).filter((one) => !isAllowed(file, one))).toEqual([])
  })

  test.each([
    ['sandbox/domain/account.ts', '../engine/engine.js'],
    ['sandbox/domain/account.ts', 'hono'],
    ['sandbox/domain/account.ts', '../service.js'],
    ['sandbox/engine/engine.ts', '../domain/account.js'],
    ['sandbox/engine/engine.ts', '../http/app.js'],
    ['sandbox/service.ts', './http/app.js'],
    ['sandbox/http/app.ts', '../../cli/main.js'],
    ['sandbox/http/app.ts', 'express'],
    ['sandbox/options.ts', './http/app.js'],
  ])('would be caught: %s imports %s', (file, specifier) => {
    expect(isAllowed(file, { specifier, typeOnly: false })).toBe(false)
  })

  test.each(modules)('%s has no `any`', (file) => {
    expect([...nodesOf(file)].filter(({ kind }) => kind === ts.SyntaxKind.AnyKeyword)).toEqual([])
  })
})

/** The one place for statuses of the API. */
test.each(modules.filter((file) => file.startsWith('sandbox/domain/') || file.startsWith('sandbox/engine/')))(
  '%s knows no status of the API',
  (file) => {
    const texts = [...nodesOf(file)].filter(ts.isStringLiteral).map(({ text }) => text)
    expect(
      texts.filter((text) => /^(invalid_request_error|api_error|authentication_error)$/.test(text)),
    ).toEqual([])
  },
)
