import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { verifySignature } from 'tix-webhooks'
import { afterAll, expect, test } from 'vitest'
import { run, type Surroundings } from '../../../support/cli.js'

const secret = 'whsec_sign'
const folder = mkdtempSync(join(tmpdir(), 'sign-'))
const bytes = Uint8Array.from([0xef, 0xbb, 0xbf, 0xff, 0x0a])
writeFileSync(join(folder, 'body.bin'), bytes)
afterAll(() => rmSync(folder, { recursive: true }))

const headerOf = async (argv: string, surroundings: Surroundings = {}) => {
  const { code, stdout, stderr } = await run(`sign ${argv}`, { cwd: folder, ...surroundings })
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return stdout.trimEnd()
}

test('the exact bytes of a file or of the standard input are signed', async () => {
  const signed = await Promise.all([
    headerOf(`--secret ${secret} --body @body.bin`),
    headerOf(`--secret ${secret}`, { stdin: bytes }),
    headerOf(`--secret ${secret} --body -`, { stdin: bytes }),
  ])
  for (const header of signed) await verifySignature(bytes, header, { secret })
})

test('the secret is that of the flag, or else that of the environment', async () => {
  const env = { TIX_SIGNING_SECRET: 'whsec_other' }
  await verifySignature('x', await headerOf('--body x', { env }), { secret: 'whsec_other' })
  await verifySignature('x', await headerOf(`--body x --secret ${secret}`, { env }), { secret })
})

test.each(['dot', 'concat', 'body'] as const)('it signs in the form %s', async (form) => {
  const signedContent = form === 'body' ? (_t: string, body: Uint8Array) => body : form
  const header = await headerOf(`--secret ${secret} --body x --signature ${form} --t 1700000000`)
  expect(header).toMatch(/^t=1700000000,v1=[0-9a-f]{64}$/)
  await verifySignature('x', header, { secret, signature: { signedContent }, now: () => 1_700_000_000_000 })
})

test.runIf(existsSync('/dev/zero'))('pipes and devices are refused at once', async () => {
  execFileSync('mkfifo', [join(folder, 'pipe')])
  for (const path of ['pipe', '/dev/zero']) {
    const { code, stderr } = await run(`sign --secret a --body @${path}`, { cwd: folder })
    expect(code).toBe(2)
    expect(stderr).toMatch(/^--body: this is a pipe or a device, not a file: .* standard input instead: -\n/)
  }
})

test('a file may have 64 MiB, whatever its size is said to be', { tags: ['slow'] }, async () => {
  const path = join(folder, 'large')
  for (const [size, code] of [
    [64 * 1024 * 1024, 0],
    [64 * 1024 * 1024 + 1, 2],
  ] as const) {
    writeFileSync(path, '')
    truncateSync(path, size)
    expect(await run(`sign --secret a --body @${path}`)).toMatchObject({ code })
  }
})
