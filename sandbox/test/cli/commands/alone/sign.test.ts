import { execFileSync } from 'node:child_process'
import { existsSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { verifySignature } from 'tix-webhooks'
import { signedBody } from 'tix-webhooks/testing'
import { expect, test } from 'vitest'
import { emptyFolder, run, type Surroundings } from '../../../support/cli.js'

const secret = 'whsec_sign'
const bytes = Uint8Array.from([0xef, 0xbb, 0xbf, 0xff, 0x0a])

const headerOf = async (argv: string, surroundings: Surroundings = {}) => {
  const { code, stdout, stderr } = await run(`sign ${argv}`, surroundings)
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return stdout.trimEnd()
}

test('the exact bytes of a file or of the standard input are signed, with the secret of the flag or of the environment', async () => {
  const cwd = emptyFolder()
  writeFileSync(join(cwd, 'body.bin'), bytes)
  const env = { TIX_SIGNING_SECRET: 'whsec_other' }
  await verifySignature(bytes, await headerOf('--body @body.bin', { cwd, env }), { secret: 'whsec_other' })
  const header = await headerOf(`--secret ${secret} --body -`, { stdin: bytes, env })
  await verifySignature(bytes, header, { secret })
})

test.each(['dot', 'concat', 'body'] as const)('it signs in the form %s', async (form) => {
  const signedContent = form === 'body' ? (_t: string, body: Uint8Array) => body : form
  const header = await headerOf(`--secret ${secret} --body x --signature ${form} --t 1700000000`)
  expect(header).toMatch(/^t=1700000000,v1=[0-9a-f]{64}$/)
  await verifySignature('x', header, { secret, signature: { signedContent }, now: () => 1_700_000_000_000 })
})

test.runIf(existsSync('/dev/zero'))('pipes and devices are refused at once', async () => {
  const cwd = emptyFolder()
  execFileSync('mkfifo', [join(cwd, 'pipe')])
  for (const path of ['pipe', '/dev/zero']) {
    const { code, stderr } = await run(`sign --secret a --body @${path}`, { cwd })
    expect(code).toBe(2)
    expect(stderr).toMatch(/^--body: this is a pipe or a device, not a file: .* standard input instead: -\n/)
  }
})

test('a file may have 64 MiB, whatever its size is said to be', { tags: ['slow'] }, async () => {
  const path = join(emptyFolder(), 'large')
  for (const [size, code] of [
    [64 * 1024 * 1024, 0],
    [64 * 1024 * 1024 + 1, 2],
  ] as const) {
    writeFileSync(path, '')
    truncateSync(path, size)
    expect(await run(`sign --secret a --body @${path}`)).toMatchObject({ code })
  }
})

const body = '{"type":"order.created","created_at":"2026-01-01T00:00:00Z","data":{}}'
const timestamp = 1_700_000_000
const { header } = await signedBody(body, { secret, timestamp })
const ALL = `--secret ${secret} --header ${header} --body ${body}`
const NOW = '--received-at 2023-11-14T22:13:30Z'
const verify = (argv: string) => run(`verify ${argv}`)

test('a valid signature is accepted', async () => {
  expect(await verify(`${ALL} ${NOW}`)).toMatchObject({
    code: 0,
    stdout: 'valid: signed at 2023-11-14T22:13:20.000Z, 10 s ago\n',
    stderr: '',
  })
  expect((await verify(`${ALL} ${NOW} --json`)).records()).toEqual([
    { valid: true, signed_at: '2023-11-14T22:13:20.000Z', age_seconds: 10, findings: [] },
  ])
})

test.each([
  [57, true],
  [64, false],
  [40, false],
])('a signature of %i digits may be cut off: %s', async (digits, isAsked) => {
  const cut = header.replace(/v1=.*/, `v1=${'5257a869e7'.repeat(7).slice(0, digits)}`)
  const { code, stdout } = await verify(`--secret ${secret} --header ${cut} --body ${body}`)
  const question = `v1 has ${digits} hex digits, and SHA-256 has 64: is it cut off?`
  expect([code, stdout.includes(question)]).toEqual([1, isAsked])
})

test('an invalid delivery is reported with the part that is wrong, and what is near', async () => {
  const stale = await verify(ALL)
  expect(stale.code).toBe(1)
  expect(stale.stdout).toMatch(
    /^invalid: timestamp_too_old\n.+\n- The signature is right, so the secret is too\./,
  )

  const concat = await signedBody(body, { secret, timestamp, signature: { signedContent: 'concat' } })
  const argv = `--secret ${secret} --header ${concat.header} --body ${body} ${NOW}`
  const near = await verify(argv)
  expect(near.code).toBe(1)
  expect(near.stdout).toMatch(/^invalid: signature_mismatch\n[\s\S]*concat/)
  expect(await verify(`${argv} --signature concat`)).toMatchObject({ code: 0 })

  const newline = await verify(`${ALL} ${NOW} --json`.replace(secret, `${secret}\n`))
  expect(newline.code).toBe(1)
  expect(newline.records()).toMatchObject([{ valid: false, code: 'secret_unusable' }])
})
