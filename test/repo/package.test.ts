import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { connect } from 'node:net'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ENTRIES } from '../../build/entries.js'
import { anchor } from '../../build/llms.js'
import receiverJson from '../../package.json' with { type: 'json' }
import { VERSION } from '../../sandbox/lib/version.js'
import sandboxJson from '../../sandbox/package.json' with { type: 'json' }
import { snippetsOf } from '../support/compile.js'
import { freePort } from '../support/free-port.js'
import { bin, filesIn, filesUnder, install, node, type Packed, pack } from '../support/packed.js'
import { type Link, linksOf, PACKED_PAGES, PAGES, readPage, SANDBOX_PAGES } from '../support/pages.js'
import { ROOT } from '../support/root.js'
import { shellWords } from '../support/shell-words.js'

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

let receiver: Packed
let sandbox: Packed
let temporary: string
/** Projects with the newest frameworks, with the oldest supported, with none; and with both packages and Express. */
let project: { new: string; old: string; bare: string; both: string }

beforeAll(() => {
  ;({ receiver, sandbox, temporary } = pack())
  project = {
    new: install([receiver], 'new', NEW),
    old: install([receiver], 'old', OLD),
    bare: install([receiver], 'bare'),
    both: install([receiver, sandbox], 'both', { express: 'express' }),
  }
})

const children: ChildProcess[] = []

afterAll(async () => {
  for (const child of children) {
    if (child.exitCode !== null || child.signalCode !== null) continue
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
  rmSync(temporary, { recursive: true, force: true })
})

describe('the tarball', () => {
  const installed = (): string => join(project.bare, 'node_modules/tix-webhooks')

  test('holds what users need, and nothing else', () => {
    const files = filesIn(receiver)
    const outside = files.filter((file) => !/^(dist|examples)\//.test(file))
    expect(outside.sort()).toEqual([...PACKED_PAGES, 'LICENSE', 'bin.js', 'llms.txt', 'package.json'].sort())
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
    expect(statSync(receiver.tarball).size).toBeLessThanOrEqual(485_000)
    const unpacked = filesUnder(installed()).map((file) => statSync(join(installed(), file)).size)
    expect(unpacked.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(1_620_000)
  })

  test('says nothing of the machine it was built on', () => {
    const machine = [ROOT.slice(0, -1), homedir(), 'file://'].filter((path) => path.length > 1)
    const telling = filesUnder(installed()).filter((file) => {
      const text = readFileSync(join(installed(), file), 'utf8')
      return machine.some((path) => text.includes(path))
    })
    expect(telling).toEqual([])
  })

  test('is faultless to publint and to arethetypeswrong, and so is that of the second package', async () => {
    for (const { tarball } of [receiver, sandbox]) {
      expect(await node([bin('publint'), 'run', tarball, '--strict'], temporary)).toContain('All good!')
      await node([bin('attw'), tarball, '--profile', 'node16', '--format', 'json'], temporary)
    }
  })

  // Those of the README become absolute when it is packed.
  test('has the file of every link of its other pages, but for pictures, benchmarks, whole apps and the sandbox', () => {
    const isLeftOut = ({ file }: Link): boolean =>
      /\.(svg|png)$|^(bench|runtimes|sandbox|examples\/(reseller|testing))\//.test(file)
    const links = PACKED_PAGES.filter((page) => page !== 'README.md').flatMap(linksOf)
    expect(links.length).toBeGreaterThan(40)
    const files = filesIn(receiver)
    expect(links.filter((link) => !isLeftOut(link) && !files.includes(link.file))).toEqual([])
  })

  test('has an llms.txt with the title of every page of docs, and links to nothing outside', () => {
    const text = readFileSync(join(installed(), 'llms.txt'), 'utf8')
    for (const page of PACKED_PAGES.filter((name) => name.startsWith('docs/'))) {
      expect(text).toContain(`- [${/^# (.+)$/m.exec(readPage(page))?.[1]}](${page})`)
    }
    const targets = [...text.matchAll(/\]\(([^)#]*)/g)].map(([, target = '']) => target)
    const files = filesIn(receiver)
    expect(targets.filter((target) => !files.includes(target))).toEqual([])
    expect(receiverJson.scripts.build).toContain('tsx build/llms.ts')
  })
})

test('every link of a page leads to a file, and every anchor to a heading', () => {
  const anchorsOf = (page: string): string[] => {
    const prose = readPage(page).replaceAll(/^```[\s\S]*?^```$/gm, '')
    return [...prose.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => anchor(heading))
  }
  const links = PAGES.flatMap(linksOf)
  expect(links.filter(({ file }) => !existsSync(`${ROOT}${file}`))).toEqual([])
  const missing = links.filter(
    (link) =>
      PAGES.includes(link.file) && link.anchor !== undefined && !anchorsOf(link.file).includes(link.anchor),
  )
  expect(missing).toEqual([])
})

describe('every subpath', () => {
  const answers = [
    '200 {"outcome":"handled"}',
    '400 {"outcome":"malformed"}',
    '503 {"outcome":"retry_later"} 7',
  ]
  const copies = [
    { script: 'from-esm.mjs', versions: 'new' },
    { script: 'from-cjs.cjs', versions: 'new' },
    { script: 'from-esm.mjs', versions: 'old' },
    { script: 'from-cjs.cjs', versions: 'old' },
  ] as const

  test.each(copies)(
    'receives in $script with the $versions frameworks, and its errors are one family with those of all copies',
    async ({ script, versions }) => {
      const { loaded = [], ...report } = JSON.parse(await node([script], project[versions]))
      expect(report).toEqual({
        answers: Object.fromEntries(SUBPATHS.map((name) => [name, answers])),
        verificationErrors: SUBPATHS.length,
        ofNode: true,
        ofFetch: true,
        ofOther: true,
      })
      // Nothing but the package, so no framework; only CommonJS tells.
      const inside = join('node_modules', 'tix-webhooks', 'dist')
      expect(loaded.filter((file: string) => !file.includes(inside))).toEqual([])
      expect(loaded.length > 0).toBe(script === 'from-cjs.cjs')
    },
  )

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

  const WITH_PEER = {
    [FAST_CHECK]: `({ knownEvents, unknownEvents, envelopes, notEnvelopes }) => {
      const fc = require('fast-check')
      const arbitraries = fc.tuple(knownEvents(), unknownEvents(), envelopes(), notEnvelopes())
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
  )(
    '%s can be imported and required where its peer is installed, the %s one',
    async (name, versions, use) => {
      const script = `import(process.argv[1]).then((esm) => {
      for (const loaded of [esm, require(process.argv[1])]) console.log((${use})(loaded))
    })`
      const printed = await node(['--input-type=commonjs', '-e', script, name], project[versions])
      expect(printed).toBe('true\ntrue\n')
    },
  )

  test('prints an error by the name of its class, whatever the build made of that', async () => {
    const script = `import(process.argv[1]).then((esm) => {
      for (const { PayloadError, RetryLater } of [esm, require(process.argv[1])]) {
        console.log(new PayloadError('not_json', 'told').stack.split('\\n')[0])
        console.log(require('node:util').inspect(new RetryLater({ afterSeconds: 1, reason: 'told' })).split('\\n')[0])
      }
    })`
    const printed = await node(['--input-type=commonjs', '-e', script, 'tix-webhooks'], project.bare)
    expect(printed.trim().split('\n')).toEqual(
      Array(2).fill(['PayloadError: told', 'RetryLater: told']).flat(),
    )
  })
})

describe('an app in TypeScript', () => {
  const strict = ['--noEmit', '--strict', '--exactOptionalPropertyTypes', '--target', 'es2022']
  const flags = [...strict, '--types', 'node']
  const nodenext = ['--module', 'nodenext']
  const emitting = [...nodenext, '--skipLibCheck', '--declaration']

  // `npm run test:runtimes` has every compiler from 5.0 on, with the newest frameworks. TypeScript 5.0 takes four times as long as 7.
  test.concurrent.each([
    // Without skipLibCheck, so that our declarations themselves are checked, and without browser types.
    ['typescript7', 'new', [...nodenext, '--lib', 'es2022', 'app.ts', 'app.cts']],
    ['typescript7', 'new', [...emitting, 'wrappers.ts']],
    ['typescript7', 'new', [...emitting, 'subpaths.ts']],
    // Without the CommonJS file: `import … = require(…)` is not valid in code for a bundler.
    [
      'typescript7',
      'new',
      ['--module', 'esnext', '--moduleResolution', 'bundler', '--skipLibCheck', 'app.ts', 'stores.ts'],
    ],
    ['typescript7', 'old', ['--module', 'node16', '--skipLibCheck', 'app.ts', 'app.cts']],
    // The settings of an older Express app: no exports, so the types are found by typesVersions.
    ['typescript50', 'old', ['--module', 'commonjs', '--esModuleInterop', '--skipLibCheck', 'classic.ts']],
  ] as const)('compiles with %s and the %s frameworks: %j', async (compiler, versions, args) => {
    await node([`${ROOT}node_modules/${compiler}/bin/tsc`, ...flags, ...args], project[versions])
  })
})

describe('the second package', () => {
  test('has the version of the first, which it needs', () => {
    const { version } = receiverJson
    expect([sandboxJson.version, sandboxJson.peerDependencies, VERSION]).toEqual([
      version,
      { 'tix-webhooks': version },
      version,
    ])
  })

  test('holds what users need, and nothing else', () => {
    const files = filesIn(sandbox)
    const pages = SANDBOX_PAGES.map((page) => page.slice('sandbox/'.length))
    const outside = files.filter((file) => !file.startsWith('dist/'))
    const own = ['LICENSE', 'index.d.mts', 'index.mjs', 'package.json']
    expect(outside.sort()).toEqual([...pages, ...own].sort())
    const built = files.filter((file) => file.startsWith('dist/'))
    expect(built.filter((file) => !/\.(cjs|d\.cts)$/.test(file))).toEqual([
      // The page in the browser contains Preact.
      'dist/LICENSE.preact.txt',
    ])
  })

  test('has its libraries as dependencies, none of them in its own files', async () => {
    const installed = join(project.both, 'node_modules', sandboxJson.name)
    const code = filesIn(sandbox)
      .filter((file) => file.endsWith('.cjs'))
      .map((file) => readFileSync(join(installed, file), 'utf8'))
    const required = code.flatMap((text) =>
      [...text.matchAll(/\brequire\(['"]([^'".][^'"]*)['"]\)/g)].map(([, name = '']) => name),
    )
    const packages = required
      .filter((name) => !name.startsWith('node:'))
      .map((name) => /^(@[^/]+\/)?[^/]+/.exec(name)?.[0])
    expect([...new Set(packages)].sort()).toEqual(
      ['tix-webhooks', ...Object.keys(sandboxJson.dependencies)].sort(),
    )
    expect(code.filter((text) => text.includes('node_modules/'))).toEqual([])
  })

  test.each([
    ['imported', "import { createSandbox } from 'tix-webhooks-sandbox'", 'module'],
    ['required', "const { createSandbox } = require('tix-webhooks-sandbox')", 'commonjs'],
  ])('delivers if it is %s', async (_, load, type) => {
    const script = `${load}
      const sandbox = createSandbox({ deliver: async (request) => new Response(null, { status: 500 }) })
      sandbox.trigger('order.created')
        .then(() => sandbox.clock.advance('72h'))
        .then(() => console.log(sandbox.deliveries.list()[0].attempts.length))
        .then(() => sandbox.close())`
    expect(await node([`--input-type=${type}`, '-e', script], project.both)).toBe('11\n')
  })
})

describe('the command', () => {
  const command = (folder: string): string =>
    join(folder, 'node_modules', receiverJson.name, receiverJson.bin['tix-webhooks'])
  const ofSandbox = (folder: string): string =>
    join(folder, 'node_modules', sandboxJson.name, sandboxJson.bin['tix-webhooks-sandbox'])

  test.each([command, ofSandbox])('can be run as it is, and prints its version', async (fileOf) => {
    const file = fileOf(project.both)
    expect(readFileSync(file, 'utf8')).toMatch(/^#!\/usr\/bin\/env node\n/)
    expect(statSync(file).mode & 0o111).toBe(0o111)
    expect(await node([file, '--version'], project.both)).toBe(`${receiverJson.version}\n`)
  })

  const INSTALL = `npm install -D tix-webhooks-sandbox@${receiverJson.version}`
  const OTHER = {
    'package.json': JSON.stringify({ version: '0.0.9', bin: { [sandboxJson.name]: 'bin.cjs' } }),
    'bin.cjs': "console.log('it ran')",
  }

  /** A project with the first package, and with files in place of the second. */
  function withSecond(name: string, files: Readonly<Record<string, string>>): string {
    const folder = install([receiver], name)
    const second = join(folder, 'node_modules', sandboxJson.name)
    mkdirSync(second, { recursive: true })
    for (const [file, text] of Object.entries(files)) writeFileSync(join(second, file), text)
    return folder
  }

  test.each([
    ['is missing', () => project.bare, [1, ''], ''],
    [
      'has no code, as in a clone that is not built',
      () => withSecond('unbuilt', { 'package.json': JSON.stringify(sandboxJson) }),
      [1, ''],
      '',
    ],
    ['has a package.json that is cut off', () => withSecond('cut', { 'package.json': '{' }), [1, ''], ''],
    [
      'has another version, which it runs',
      () => withSecond('other', OTHER),
      [0, 'it ran\n'],
      'tix-webhooks-sandbox is 0.0.9',
    ],
  ] as const)('prints the line that installs the second package if that %s', (_, folderOf, ended, told) => {
    const cwd = folderOf()
    const { status, stdout, stderr } = spawnSync(process.execPath, [command(cwd), 'trigger'], {
      cwd,
      encoding: 'utf8',
    })
    expect([status, stdout]).toEqual(ended)
    expect(stderr).toContain(INSTALL)
    expect(stderr).toContain(told)
    expect(stderr).not.toContain('    at ')
  })

  test('is the one beside it, not one that the current folder has', async () => {
    const planted = withSecond('planted', OTHER)
    expect(await node([command(project.both), '--version'], planted)).toBe(`${receiverJson.version}\n`)
  })

  test('names the Node that it needs', () => {
    const old = "data:text/javascript,Object.defineProperty(process,'versions',{value:{node:'20.18.3'}})"
    const { status, stderr } = spawnSync(process.execPath, [
      '--import',
      old,
      command(project.both),
      '--version',
    ])
    expect([status, String(stderr)]).toEqual([
      1,
      'tix-webhooks needs Node 20.19 or newer, and this is Node 20.18.3.\n',
    ])
  })

  // As pnpm does it: the first package cannot resolve the second from its own folder.
  test('is found from the project if the packages are stored apart', async () => {
    const apart = join(temporary, 'apart')
    for (const [name, from] of [
      [receiverJson.name, project.bare],
      [sandboxJson.name, project.both],
    ] as const) {
      mkdirSync(join(apart, 'node_modules'), { recursive: true })
      symlinkSync(join(from, 'node_modules', name), join(apart, 'node_modules', name))
    }
    expect(await node([command(apart), '--version'], apart)).toBe(`${receiverJson.version}\n`)
  })

  interface Started {
    readonly child: ChildProcess
    /** Its standard output, and its standard error, so far. */
    readonly printed: () => string
    readonly logged: () => string
    /** Resolves when the text has been printed. */
    until(text: string): Promise<void>
  }

  function start(args: readonly string[]): Started {
    const child = spawn(process.execPath, args, { cwd: project.both, env: { PATH: process.env.PATH } })
    children.push(child)
    let printed = ''
    child.stdout.on('data', (text) => {
      printed += text
    })
    let logged = ''
    child.stderr.on('data', (text) => {
      logged += text
    })
    return {
      child,
      printed: () => printed,
      logged: () => logged,
      async until(text) {
        while (!printed.includes(text)) {
          if (child.exitCode !== null) throw new Error(`it ended with ${child.exitCode}: ${printed}${logged}`)
          await Promise.race([once(child.stdout, 'data'), once(child, 'exit')])
        }
      },
    }
  }

  async function listens(port: number, app: ChildProcess): Promise<void> {
    while (app.exitCode === null) {
      const socket = connect(port, '127.0.0.1')
      const isUp = await once(socket, 'connect').then(
        () => true,
        () => false,
      )
      socket.destroy()
      if (isUp) return
      await setTimeout(20)
    }
    throw new Error(`the app ended with ${app.exitCode}`)
  }

  test('the five minutes of the README work as they stand', async () => {
    const [, section = ''] = /^## Five minutes\n([\s\S]*?)^## /m.exec(readPage('README.md')) ?? []
    const lines = [...section.matchAll(/npx tix-webhooks ([^`\n]+)/g)].map(([, line = '']) => line)
    const port = await freePort()
    const withPort = (text: string): string => text.replace('3000', String(port))
    /** A command of the README unchanged, except for the port. */
    const run = (name: string, ...more: string[]): Started => {
      const line = lines.find((one) => one.startsWith(name)) ?? ''
      return start([command(project.both), ...shellWords(withPort(line)).words, ...more])
    }
    const end = async ({ child, printed }: Started): Promise<[number | null, string]> => {
      if (child.exitCode === null) await once(child, 'close')
      return [child.exitCode, printed()]
    }
    const withoutIds = (text: string): string =>
      text
        .replaceAll(/dlv_\w+/g, 'dlv_…')
        .replaceAll(/:\d+\/hooks/g, '/hooks')
        .replaceAll(/\d+(\.\d+)? m?s$/gm, '… ms')

    const app = withPort(snippetsOf('README.md', 'js')[0] ?? '')
    const file = join(project.both, 'app.mjs')
    writeFileSync(file, app)
    const [secretExit, secret] = await end(run('secret'))
    expect([secretExit, secret]).toEqual([0, expect.stringMatching(/^TIX_SIGNING_SECRET=whsec_[\w-]+\n$/)])
    appendFileSync(join(project.both, '.env'), secret)

    const running = start(['--env-file=.env', 'app.mjs'])
    await listens(port, running.child)
    const serving = run('sandbox', '--port', '0')
    await serving.until('Ctrl-C')
    const [exit, answer] = await end(run('trigger'))
    expect([exit, withoutIds(answer)]).toEqual([0, withoutIds(snippetsOf('README.md', 'text')[0] ?? '')])
    await running.until('\n')
    expect(running.printed()).toBe('2 tickets for buyer1@example.com\n')
    running.child.kill('SIGKILL')
    await once(running.child, 'exit')

    writeFileSync(file, app.replace(/console\.log\(.*\)/, "throw new Error('no')"))
    const throwing = start(['--env-file=.env', 'app.mjs'])
    await listens(port, throwing.child)
    expect((await end(run('trigger')))[0]).toBe(1)
    expect((await end(run('advance')))[0]).toBe(0)
    await serving.until('given up')
    // Only the app's frames: not ours, not Node's.
    expect(throwing.logged()).toMatch(
      /^tix-webhooks: \[\/hooks order\.created default\/order\.created\/ord_\w+, attempt 1[^\]]*\] no\n {4}Error: no\n {8}at [^\n]*app\.mjs:\d+:\d+\)\ntix-webhooks: /,
    )
    expect(serving.printed().match(/<-- \[500\]/g)).toHaveLength(11)
  })
})
