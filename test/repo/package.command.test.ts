import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import packageJson from '../../package.json' with { type: 'json' }
import { install, node, pack } from '../support/packed.js'

let temporary: string
let project: string
let command: string

beforeAll(() => {
  const packed = pack()
  temporary = packed.temporary
  project = install(packed.tarball, 'alone', {})
  command = join(project, 'node_modules', packageJson.name, packageJson.bin['tix-webhooks'])
}, 120_000)

afterAll(() => rmSync(temporary, { recursive: true, force: true }))

describe('the command, where nothing but the package is installed,', () => {
  test('can be run as it is', () => {
    expect(readFileSync(command, 'utf8')).toMatch(/^#!\/usr\/bin\/env node\n/)
    expect(statSync(command).mode & 0o111).toBe(0o111)
  })

  test('prints its version', async () => {
    expect(await node([command, '--version'], project)).toBe(`${packageJson.version}\n`)
  })

  test('signs what it then finds valid', async () => {
    const secret = ['--secret', 'whsec_packed']
    const header = (await node([command, 'sign', ...secret, '--body', '{}'], project)).trim()
    const verified = await node([command, 'verify', ...secret, '--header', header, '--body', '{}'], project)
    expect(verified).toMatch(/^valid/)
  })

  test('describes the service, from its own sandbox', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'command-'))
    const described = await node([command, 'openapi', '--sandbox', 'none'], folder)
    rmSync(folder, { recursive: true })
    expect(JSON.parse(described)).toMatchObject({ openapi: '3.1.0' })
  })
})

test.each([
  ['imported', "import { createSandbox } from 'tix-webhooks-sandbox'", 'module'],
  ['required', "const { createSandbox } = require('tix-webhooks-sandbox')", 'commonjs'],
])('the sandbox of the package delivers where it is %s', async (_, load, type) => {
  const script = `${load}
    const sandbox = createSandbox({ deliver: async (request) => new Response(null, { status: 500 }) })
    sandbox.trigger('order.created')
      .then(() => sandbox.clock.advance('72h'))
      .then(() => console.log(sandbox.deliveries.list()[0].attempts.length))
      .then(() => sandbox.close())`
  expect(await node([`--input-type=${type}`, '-e', script], project)).toBe('11\n')
})
