import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { verifySignature } from 'tix-webhooks'
import { afterAll, describe, expect, test } from 'vitest'
import { run } from '../../../support/cli.js'

const secret = 'whsec_sign'
const folder = mkdtempSync(join(tmpdir(), 'sign-'))
const bytes = Uint8Array.from([0xef, 0xbb, 0xbf, 0xff, 0x0a])
writeFileSync(join(folder, 'body.bin'), bytes)
writeFileSync(join(folder, 'notes'), bytes)
afterAll(() => rmSync(folder, { recursive: true }))

const headerOf = async (argv: readonly string[], surroundings: Parameters<typeof run>[1] = {}) => {
  const { code, stdout, stderr } = await run(['sign', ...argv], { cwd: folder, ...surroundings })
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return stdout.trimEnd()
}

describe('sign', () => {
  test('signs the very bytes of a file, and of the standard input', async () => {
    await verifySignature(bytes, await headerOf(['--secret', secret, '--body', '@body.bin']), { secret })
    await verifySignature(bytes, await headerOf(['--secret', secret], { stdin: bytes }), { secret })
    await verifySignature('x\n', await headerOf(['--secret', secret, '--body', '-'], { stdin: 'x\n' }), {
      secret,
    })
  })

  test('takes the secret from the environment, and rather from the flag', async () => {
    const env = { TIX_SIGNING_SECRET: 'whsec_other' }
    await verifySignature('x', await headerOf(['--body', 'x'], { env }), { secret: 'whsec_other' })
    await verifySignature('x', await headerOf(['--body', 'x', '--secret', secret], { env }), { secret })
  })

  test.each(['dot', 'concat', 'body'] as const)('signs in the form %s', async (form) => {
    const signedContent = form === 'body' ? (_t: string, body: Uint8Array) => body : form
    const header = await headerOf([
      '--secret',
      secret,
      '--body',
      'x',
      '--signature',
      form,
      '--t',
      '1700000000',
    ])
    expect(header).toMatch(/^t=1700000000,v1=[0-9a-f]{64}$/)
    await verifySignature('x', header, { secret, signature: { signedContent }, now: () => 1_700_000_000_000 })
  })

  test.each([
    [['--body', 'x'], {}, /^There is no signing secret: give --secret, set TIX_SIGNING_SECRET/],
    [['--body', 'x'], { env: { TIX_SIGNING_SECRET: '' } }, /^There is no signing secret/],
    [['--secret', '', '--body', 'x'], {}, /^--secret is empty/],
    [['--secret', 'a ', '--body', 'x'], {}, /^secret begins or ends with white space/],
    [['--secret', 'a', '--body', '@gone'], {}, /^--body: there is no such file: gone\nSee: /],
    [['--secret', 'a', '--body', '@.'], {}, /^--body: this is a folder, not a file: \.\n/],
    [['--secret', 'a', '--body', '@'], {}, /^--body names no file/],
    [
      ['--secret', 'a', '--body', 'body.json'],
      {},
      /^--body body\.json is the name of a file: write --body @body\.json for its/,
    ],
    [
      ['--secret', 'a', '--body', 'notes'],
      {},
      /^--body notes is the name of a file: write --body @notes for its/,
    ],
    [['--secret', 'a', '--body', 'x', '--t', '-5'], {}, /^--t needs a value/],
    [['--secret', 'a', '--body', 'x', '--t', '1.5'], {}, /^--t must be a whole number/],
    [
      ['--secret', 'a', '--body', 'x', '--signature', 'dots'],
      {},
      /^--signature must be one of dot, concat, body/,
    ],
  ])('refuses %j', async (argv, surroundings, message) => {
    const { code, stdout, stderr } = await run(['sign', ...argv], { cwd: folder, ...surroundings })
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(message)
  })

  test.runIf(existsSync('/dev/zero'))('waits for no pipe, and reads no device without end', async () => {
    execFileSync('mkfifo', [join(folder, 'pipe')])
    for (const path of ['pipe', '/dev/zero']) {
      const { code, stderr } = await run(['sign', '--secret', 'a', '--body', `@${path}`], { cwd: folder })
      expect(code).toBe(2)
      expect(stderr).toMatch(
        /^--body: this is a pipe or a device, not a file: .* standard input instead: -\n/,
      )
    }
  })

  test('reads a file no further than 64 MiB, whatever its size is said to be', {
    tags: ['slow'],
  }, async () => {
    const path = join(folder, 'large')
    for (const [size, expected] of [
      [64 * 1024 * 1024, 0],
      [64 * 1024 * 1024 + 1, 2],
    ] as const) {
      writeFileSync(path, '')
      truncateSync(path, size)
      expect((await run(['sign', '--secret', 'a', '--body', `@${path}`])).code).toBe(expected)
    }
  })

  test('never shows the secret', async () => {
    const { stdout, stderr } = await run(['sign', '--secret', ` ${secret}`, '--body', 'x'])
    expect(stdout + stderr).not.toContain(secret)
  })
})
