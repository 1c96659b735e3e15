import { readFileSync, rmSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ENTRIES } from '../../build/entries.js'
import { bin, filesIn, filesUnder, install, node, type Packed, pack } from '../support/packed.js'
import { PACKED_PAGES } from '../support/pages.js'
import { ROOT } from '../support/root.js'

/** The subpaths that receive. */
const SUBPATHS = ['index', 'express', 'fastify', 'fetch', 'hono', 'node']
/** The file of each subpath in dist/, by the specifier. */
const SPECIFIERS = Object.fromEntries(
  Object.keys(ENTRIES).map((name) => [name === 'index' ? 'tix-webhooks' : `tix-webhooks/${name}`, name]),
)

/** The subpaths that load their peer. */
const FAST_CHECK = 'tix-webhooks/testing/fast-check'
const OPENTELEMETRY = 'tix-webhooks/opentelemetry'

const SHARED = { hono: 'hono', '@types/node': '@types/node' }
const CLIENTS = {
  ioredis: 'ioredis',
  redis: 'redis',
  pg: 'pg',
  '@types/pg': '@types/pg',
  postgres: 'postgres',
  mysql2: 'mysql2',
  mariadb: 'mariadb',
  libsql: 'libsql',
  '@types/better-sqlite3': '@types/better-sqlite3',
  'fast-check': 'fast-check',
  '@opentelemetry/api': '@opentelemetry/api',
}
const NEW = {
  ...SHARED,
  ...CLIENTS,
  express: 'express',
  fastify: 'fastify',
  '@types/express': '@types/express',
}
const OLD = {
  ...SHARED,
  express: 'express4',
  fastify: 'fastify4',
  '@types/express': 'types-express4',
  'fast-check': 'fast-check3',
  '@opentelemetry/api': 'opentelemetry-api13',
}

/** A limit for compiling or starting a whole app on a busy machine. */
const SLOW = 120_000

let packed: Packed
let temporary: string
/** Projects with the newest frameworks, with the oldest supported, and with none. */
let project: { new: string; old: string; bare: string }

beforeAll(() => {
  ;({ receiver: packed, temporary } = pack())
  project = {
    new: install([packed], 'new', NEW),
    old: install([packed], 'old', OLD),
    bare: install([packed], 'bare'),
  }
}, SLOW)

afterAll(() => rmSync(temporary, { recursive: true, force: true }))

describe('the tarball', () => {
  const installed = (): string => join(project.bare, 'node_modules/tix-webhooks')

  test('holds what users need, and nothing else', () => {
    const files = filesIn(packed)
    const outside = files.filter((file) => !/^(dist|examples)\//.test(file))
    expect(outside.sort()).toEqual([...PACKED_PAGES, 'LICENSE', 'bin.js', 'llms.txt', 'package.json'].sort())
    // Linked from the packed pages: package.links.test.ts.
    const examples = files.filter((file) => file.startsWith('examples/'))
    expect(examples.sort()).toEqual(
      filesUnder(`${ROOT}examples`)
        .filter((file) => !/^(demo\.ts$|reseller\/|testing\/)/.test(file))
        .map((file) => `examples/${file}`)
        .sort(),
    )
    const built = files.filter((file) => file.startsWith('dist/'))
    expect(built.filter((file) => !/\.(js|cjs|d\.ts|d\.cts)$/.test(file))).toEqual([])
    for (const name of Object.keys(ENTRIES)) {
      const endings = ['.js', '.cjs', '.d.ts', '.d.cts']
      expect(built).toEqual(expect.arrayContaining(endings.map((ending) => `dist/${name}${ending}`)))
    }
  })

  test('is small, because it is in every production install', () => {
    expect(statSync(packed.tarball).size).toBeLessThanOrEqual(470_000)
    const unpacked = filesUnder(installed()).map((file) => statSync(join(installed(), file)).size)
    expect(unpacked.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(1_560_000)
  })

  test('says nothing of the machine it was built on', () => {
    const machine = [ROOT.slice(0, -1), homedir(), 'file://'].filter((path) => path.length > 1)
    const telling = filesUnder(installed()).filter((file) => {
      const text = readFileSync(join(installed(), file), 'utf8')
      return machine.some((path) => text.includes(path))
    })
    expect(telling).toEqual([])
  })

  test('is faultless to publint', async () => {
    expect(await node([bin('publint'), 'run', packed.tarball, '--strict'], temporary)).toContain('All good!')
  })

  test('is faultless to arethetypeswrong', { timeout: SLOW }, async () => {
    const options = ['--profile', 'node16', '--format', 'json']
    const report = JSON.parse(await node([bin('attw'), packed.tarball, ...options], temporary))
    expect(Object.keys(report.analysis.entrypoints)).toHaveLength(Object.keys(SPECIFIERS).length + 1)
  })
})

describe('every subpath', () => {
  const answers = [
    '200 {"outcome":"handled"}',
    '400 {"outcome":"malformed"}',
    '503 {"outcome":"retry_later"} 7',
  ]
  const everywhere = Object.fromEntries(SUBPATHS.map((name) => [name, answers]))

  const copies = [
    { script: 'from-esm.mjs', versions: 'new' },
    { script: 'from-cjs.cjs', versions: 'new' },
    { script: 'from-esm.mjs', versions: 'old' },
    { script: 'from-cjs.cjs', versions: 'old' },
  ] as const

  test.each(copies)(
    'receives in $script with the $versions frameworks, and its errors are one family with those of all copies',
    { timeout: SLOW },
    async ({ script, versions }) => {
      const report = JSON.parse(await node([script], project[versions]))
      expect(report).toMatchObject({
        answers: everywhere,
        verificationErrors: SUBPATHS.length,
        ofNode: true,
        ofFetch: true,
        ofOther: true,
      })
    },
  )

  test('loads nothing but the package, so no framework', async () => {
    const { loaded } = JSON.parse(await node(['from-cjs.cjs'], project.new))
    const inside = join('node_modules', 'tix-webhooks', 'dist')
    expect(loaded).not.toEqual([])
    expect(loaded.filter((file: string) => !file.includes(inside))).toEqual([])
  })

  const withoutPeers = Object.keys(SPECIFIERS).filter((name) => name !== FAST_CHECK && name !== OPENTELEMETRY)

  test.each(withoutPeers)('%s can be imported and required where no peer is installed', async (name) => {
    const script = `import(${JSON.stringify(name)}).then((esm) => {
      const cjs = require(${JSON.stringify(name)})
      console.log(JSON.stringify([Object.keys(esm), Object.keys(cjs)].map((names) => names.sort())))
    })`
    const [esm, cjs] = JSON.parse(await node(['--input-type=commonjs', '-e', script], project.bare))
    expect(esm.filter((one: string) => one !== 'default' && one !== 'module.exports')).toEqual(cjs)
    const source: object = await import(`${ROOT}${ENTRIES[SPECIFIERS[name] ?? '']}`)
    expect(cjs).toEqual(Object.keys(source).sort())
  })
})

const WITH_PEER = {
  [FAST_CHECK]: `({ knownEvents, hostileHeaders, envelopes, secrets }) => {
    const fc = require('fast-check')
    const arbitraries = fc.tuple(knownEvents(), hostileHeaders(), envelopes(), secrets())
    return fc.sample(arbitraries, { numRuns: 9, seed: 1 }).every(([{ type }]) => type.includes('.'))
  }`,
  [OPENTELEMETRY]: `({ instrument }) => {
    const { on } = instrument({ secret: 's', on: { 'order.created': () => true } })
    return on['order.created']({ type: 'order.created' }, { key: null })
  }`,
}

test.each(
  Object.entries(WITH_PEER).flatMap(([name, use]) =>
    (['new', 'old'] as const).map((versions) => [name, versions, use] as const),
  ),
)('%s can be imported and required where its peer is installed, the %s one', async (name, versions, use) => {
  const script = `import(process.argv[1]).then((esm) => {
    for (const loaded of [esm, require(process.argv[1])]) console.log((${use})(loaded))
  })`
  const printed = await node(['--input-type=commonjs', '-e', script, name], project[versions])
  expect(printed).toBe('true\ntrue\n')
})

test('an error is printed by the name of its class, whatever the build made of that', async () => {
  const script = `import(process.argv[1]).then((esm) => {
    for (const { PayloadError, RetryLater } of [esm, require(process.argv[1])]) {
      console.log(new PayloadError('not_json', 'told').stack.split('\\n')[0])
      console.log(require('node:util').inspect(new RetryLater({ afterSeconds: 1, reason: 'told' })).split('\\n')[0])
    }
  })`
  const printed = await node(['--input-type=commonjs', '-e', script, 'tix-webhooks'], project.bare)
  expect(printed.trim().split('\n')).toEqual(Array(2).fill(['PayloadError: told', 'RetryLater: told']).flat())
})

describe('an app in TypeScript', () => {
  const strict = ['--noEmit', '--strict', '--exactOptionalPropertyTypes', '--target', 'es2022']
  const flags = [...strict, '--types', 'node']
  const everything = ['app.ts', 'stores.ts', 'testing.ts', 'telemetry.ts']
  // `npm run test:runtimes` has every compiler from 5.0 on, with the newest frameworks. TypeScript 5.0 takes four times as long as 7.
  const compilers = [
    // Without skipLibCheck, so that our declarations themselves are checked, and without browser types.
    {
      compiler: 'typescript7',
      versions: 'new',
      args: ['--module', 'nodenext', '--lib', 'es2022', 'app.ts', 'app.cts'],
    },
    {
      compiler: 'typescript7',
      versions: 'new',
      args: ['--module', 'nodenext', '--skipLibCheck', '--declaration', 'wrappers.ts'],
    },
    {
      compiler: 'typescript7',
      versions: 'new',
      args: ['--module', 'nodenext', '--skipLibCheck', '--declaration', 'subpaths.ts'],
    },
    // Without the CommonJS file: `import … = require(…)` is not valid in code for a bundler.
    {
      compiler: 'typescript7',
      versions: 'new',
      args: ['--module', 'esnext', '--moduleResolution', 'bundler', '--skipLibCheck', ...everything],
    },
    {
      compiler: 'typescript7',
      versions: 'old',
      args: ['--module', 'node16', '--skipLibCheck', 'app.ts', 'app.cts', 'telemetry.ts'],
    },
    // The settings of an older Express app: no exports, so the types are found by typesVersions.
    {
      compiler: 'typescript50',
      versions: 'old',
      args: ['--module', 'commonjs', '--esModuleInterop', '--skipLibCheck', 'classic.ts'],
    },
  ] as const

  test.concurrent.each(compilers)(
    'compiles with $compiler and the $versions frameworks: $args',
    { timeout: SLOW },
    async ({ compiler, versions, args }) => {
      const tsc = `${ROOT}node_modules/${compiler}/bin/tsc`
      await node([tsc, ...flags, ...args], project[versions])
    },
  )
})
