import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { signedBody } from 'tix-webhooks/testing'
import { expect, test } from 'vitest'
import { emptyFolder, run, type Surroundings } from '../../../support/cli.js'

const secret = 'whsec_verify'
const body = '{"type":"order.created","created_at":"2026-01-01T00:00:00Z","data":{}}'
const timestamp = 1_700_000_000
const { header } = await signedBody(body, { secret, timestamp })
const ALL = `--secret ${secret} --header ${header} --body ${body}`
const NOW = '--received-at 2023-11-14T22:13:30Z'
const verify = (argv: string, surroundings?: Surroundings) => run(`verify ${argv}`, surroundings)

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

test('the body is from a file or the standard input, and the secret from the environment', async () => {
  const cwd = emptyFolder()
  writeFileSync(join(cwd, 'body.json'), body)
  const argv = `--header ${header} --tolerance 0`
  const env = { TIX_SIGNING_SECRET: secret }
  expect(await verify(`${argv} --body @body.json`, { cwd, env })).toMatchObject({ code: 0 })
  expect(await verify(argv, { env, stdin: body })).toMatchObject({ code: 0 })
})

test.each([
  [10, true],
  [57, true],
  [63, true],
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

test.each([
  [`--secret ${secret} --body x`, /^--header is missing/],
  ['--header t=1,v1=00 --body x', /^There is no signing secret/],
  [`--secret ${secret} --header t=1,v1=00 --tolerance 300`, /^--tolerance 300 has no unit/],
  [`--secret ${secret} --header t=1,v1=00 --received-at now`, /^--received-at "now" is not a valid time/],
])('%s is refused', async (argv, message) => {
  const { code, stdout, stderr } = await verify(argv)
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toMatch(message)
})
