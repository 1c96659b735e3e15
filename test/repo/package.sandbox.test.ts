import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import receiverJson from '../../package.json' with { type: 'json' }
import { VERSION } from '../../sandbox/lib/version.js'
import sandboxJson from '../../sandbox/package.json' with { type: 'json' }
import { bin, filesIn, install, node, type Packed, pack } from '../support/packed.js'
import { SANDBOX_PAGES } from '../support/pages.js'

let receiver: Packed
let sandbox: Packed
let temporary: string
/** A project with both packages, and one with the first alone. */
let both: string
let alone: string

beforeAll(() => {
  ;({ receiver, sandbox, temporary } = pack())
  both = install([receiver, sandbox], 'both')
  alone = install([receiver], 'alone')
}, 120_000)

afterAll(() => rmSync(temporary, { recursive: true, force: true }))

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
    const installed = join(both, 'node_modules', sandboxJson.name)
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

  test('is faultless to publint and to arethetypeswrong', { timeout: 120_000 }, async () => {
    expect(await node([bin('publint'), 'run', sandbox.tarball, '--strict'], temporary)).toContain('All good!')
    await node([bin('attw'), sandbox.tarball, '--profile', 'node16', '--format', 'json'], temporary)
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
    expect(await node([`--input-type=${type}`, '-e', script], both)).toBe('11\n')
  })
})

describe('the command', () => {
  const command = (project: string): string =>
    join(project, 'node_modules', receiverJson.name, receiverJson.bin['tix-webhooks'])
  const ofSandbox = (project: string): string =>
    join(project, 'node_modules', sandboxJson.name, sandboxJson.bin['tix-webhooks-sandbox'])

  test.each([command, ofSandbox])('can be run as it is', (fileOf) => {
    const file = fileOf(both)
    expect(readFileSync(file, 'utf8')).toMatch(/^#!\/usr\/bin\/env node\n/)
    expect(statSync(file).mode & 0o111).toBe(0o111)
  })

  test.each([command, ofSandbox])('prints its version', async (fileOf) => {
    expect(await node([fileOf(both), '--version'], both)).toBe(`${receiverJson.version}\n`)
  })

  test('signs what it then finds valid', async () => {
    const run = (...args: string[]): Promise<string> =>
      node([command(both), ...args, '--secret', 'whsec_packed', '--body', '{}'], both)
    expect(await run('verify', '--header', (await run('sign')).trim())).toMatch(/^valid/)
  })

  test('describes the service, from its own sandbox', async () => {
    const described = await node([command(both), 'openapi', '--sandbox', 'none'], both)
    expect(JSON.parse(described)).toMatchObject({ openapi: '3.1.0' })
  })

  const INSTALL = `npm install -D tix-webhooks-sandbox@${receiverJson.version}`

  /** A project with the first package, and with files in place of the second. */
  function withSecond(name: string, files: Readonly<Record<string, string>>): string {
    const project = install([receiver], name)
    const second = join(project, 'node_modules', sandboxJson.name)
    mkdirSync(second, { recursive: true })
    for (const [file, text] of Object.entries(files)) writeFileSync(join(second, file), text)
    return project
  }

  test.each([
    ['is missing', () => alone],
    [
      'has no code, as in a clone that is not built',
      () => withSecond('unbuilt', { 'package.json': JSON.stringify(sandboxJson) }),
    ],
    ['has a package.json that is cut off', () => withSecond('cut-off', { 'package.json': '{' })],
  ])('prints the line that installs it if the second package %s, and installs nothing', (_, projectOf) => {
    const project = projectOf()
    const { status, stdout, stderr } = spawnSync(process.execPath, [command(project), 'trigger'], {
      cwd: project,
      encoding: 'utf8',
    })
    expect([status, stdout]).toEqual([1, ''])
    expect(stderr).toContain(INSTALL)
    expect(stderr).not.toContain('    at ')
  })

  test('says so if the second package has another version, and runs it', () => {
    const project = withSecond('other', {
      'package.json': JSON.stringify({ version: '0.0.9', bin: { [sandboxJson.name]: 'bin.cjs' } }),
      'bin.cjs': "console.log('it ran')",
    })
    const { status, stdout, stderr } = spawnSync(process.execPath, [command(project)], {
      cwd: project,
      encoding: 'utf8',
    })
    expect([status, stdout]).toEqual([0, 'it ran\n'])
    expect(stderr).toContain('tix-webhooks-sandbox is 0.0.9')
    expect(stderr).toContain(INSTALL)
  })

  test('is the one beside it, not one that the current folder has', async () => {
    const planted = withSecond('planted', {
      'package.json': JSON.stringify({ version: '0.0.9', bin: { [sandboxJson.name]: 'bin.cjs' } }),
      'bin.cjs': "console.log('planted')",
    })
    expect(await node([command(both), '--version'], planted)).toBe(`${receiverJson.version}\n`)
  })

  // As pnpm does it: the first package cannot resolve the second from its own folder.
  test('is found from the project if the packages are stored apart', async () => {
    const project = mkdtempSync(join(tmpdir(), 'apart-'))
    try {
      for (const { name } of [receiverJson, sandboxJson]) {
        const link = join(project, 'node_modules', name)
        mkdirSync(dirname(link), { recursive: true })
        symlinkSync(join(name === sandboxJson.name ? both : alone, 'node_modules', name), link)
      }
      expect(await node([command(project), '--version'], project)).toBe(`${receiverJson.version}\n`)
    } finally {
      rmSync(project, { recursive: true })
    }
  })
})
