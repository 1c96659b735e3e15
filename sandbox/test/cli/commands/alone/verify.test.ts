import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { signedBody } from 'tix-webhooks/testing'
import { describe, expect, test } from 'vitest'
import { run } from '../../../support/cli.js'
import { emptyFolder } from '../../../support/cli-sandbox.js'

const secret = 'whsec_verify'
const body = '{"type":"order.created","created_at":"2026-01-01T00:00:00Z","data":{}}'
const AT = 1_700_000_000
const header = async (): Promise<string> => (await signedBody(body, { secret, timestamp: AT })).header
const verify = (argv: readonly string[], surroundings?: Parameters<typeof run>[1]) =>
  run(['verify', ...argv], surroundings)

describe('verify', () => {
  test('accepts a valid signature', async () => {
    const argv = [
      '--secret',
      secret,
      '--header',
      await header(),
      '--body',
      body,
      '--received-at',
      '2023-11-14T22:13:30Z',
    ]
    expect(await verify(argv)).toMatchObject({
      code: 0,
      stdout: 'valid: signed at 2023-11-14T22:13:20.000Z, 10 s ago\n',
      stderr: '',
    })
    expect((await verify([...argv, '--json'])).records()).toEqual([
      { valid: true, signed_at: '2023-11-14T22:13:20.000Z', age_seconds: 10, findings: [] },
    ])
  })

  test('takes the body from a file, by default from the standard input, and the secret from the environment', async () => {
    const cwd = emptyFolder()
    writeFileSync(join(cwd, 'body.json'), body)
    const argv = ['--header', await header(), '--tolerance', '0']
    const env = { TIX_SIGNING_SECRET: secret }
    expect((await verify([...argv, '--body', '@body.json'], { cwd, env })).code).toBe(0)
    expect((await verify(argv, { env, stdin: body })).code).toBe(0)
  })

  test.each([
    [10, true],
    [57, true],
    [63, true],
    [64, false],
    [40, false],
  ])('asks whether a signature of %i digits is cut off: %s', async (digits, isAsked) => {
    const cut = (await header()).replace(/v1=.*/, `v1=${'5257a869e7'.repeat(7).slice(0, digits)}`)
    const { code, stdout } = await verify(['--secret', secret, '--header', cut, '--body', body])
    expect(code).toBe(1)
    const question = `v1 has ${digits} hex digits, and SHA-256 has 64: is it cut off?`
    expect(stdout.includes(question)).toBe(isAsked)
  })

  test('says which part is wrong, and what is near', async () => {
    const now = ['--received-at', '2023-11-14T22:13:30Z']
    const stale = await verify(['--secret', secret, '--header', await header(), '--body', body])
    expect(stale.code).toBe(1)
    expect(stale.stdout).toMatch(
      /^invalid: timestamp_too_old\n.+\n- The signature is right, so the secret is too\./,
    )

    const { header: concat } = await signedBody(body, {
      secret,
      timestamp: AT,
      signature: { signedContent: 'concat' },
    })
    const near = await verify(['--secret', secret, '--header', concat, '--body', body, ...now])
    expect(near.code).toBe(1)
    expect(near.stdout).toMatch(/^invalid: signature_mismatch\n/)
    expect(near.stdout).toContain('concat')
    expect(
      await verify(['--secret', secret, '--header', concat, '--body', body, ...now, '--signature', 'concat']),
    ).toMatchObject({ code: 0 })

    const newline = await verify([
      '--secret',
      `${secret}\n`,
      '--header',
      await header(),
      '--body',
      body,
      ...now,
      '--json',
    ])
    expect(newline.code).toBe(1)
    expect(newline.records()).toMatchObject([{ valid: false, code: 'secret_unusable' }])
  })

  test.each([
    [['--secret', secret, '--body', 'x'], /^--header is missing/],
    [['--header', 't=1,v1=00', '--body', 'x'], /^There is no signing secret/],
    [['--secret', secret, '--header', 't=1,v1=00', '--tolerance', '300'], /^--tolerance 300 has no unit/],
    [
      ['--secret', secret, '--header', 't=1,v1=00', '--received-at', 'now'],
      /^--received-at "now" is not a valid time/,
    ],
  ])('refuses %j', async (argv, message) => {
    const { code, stdout, stderr } = await verify(argv)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(message)
  })
})
