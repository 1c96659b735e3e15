import { writeFileSync } from 'node:fs'
import type { RequestListener } from 'node:http'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { freePort } from '../../../../test/support/free-port.js'
import { candidates, SANDBOX_FILE } from '../../../cli/client/find-sandbox.js'
import type { Io } from '../../../cli/io.js'
import { type Ran, run } from '../../support/cli.js'
import { cliRefusalOf } from '../../support/cli-refusal.js'
import { emptyFolder } from '../../support/cli-sandbox.js'
import { listening } from '../../support/cli-server.js'
import { answering, failing, STATUS } from '../../support/fake-sandbox.js'

/** Something that answers, and a command that takes it for a sandbox. */
async function against(handle: RequestListener, ...argv: string[]): Promise<Ran & { url: string }> {
  const { origin } = new URL((await listening(handle)).url)
  return { ...(await run([...argv, '--sandbox', origin])), url: origin }
}

describe('a command that needs a sandbox', () => {
  test('says where it looked and what to start, where nothing listens', async () => {
    const url = `http://127.0.0.1:${await freePort()}`
    expect(await run(`status --sandbox ${url}`)).toMatchObject({
      code: 3,
      stdout: '',
      stderr: `No sandbox is running at ${url} (--sandbox). Start one with: tix-webhooks sandbox\n`,
    })
  })

  test('says which file it looked for, where there is none', async () => {
    const { code, stderr } = await run('status', { cwd: emptyFolder(), env: { TIX_SANDBOX_URL: '' } })
    // Unless one runs on the default port of this machine.
    if (code === 0) return
    expect({ code, stderr }).toEqual({
      code: 3,
      stderr: `No sandbox is running at http://127.0.0.1:4010 (the default port), and no ${SANDBOX_FILE} in this folder or above names one. Start one with: tix-webhooks sandbox\n`,
    })
  })

  test.each<[string, RequestListener, RegExp]>([
    ['a page', answering('<html>'), /it answers 200 to GET \/_sandbox/],
    ['another JSON', answering({ name: 'vite', version: '7' }, 404), /it answers 404/],
    ['null', answering('null'), /it answers 200/],
    [
      'a refusal',
      answering({ error: { code: 'host_refused', message: 'Not my name.' } }, 403),
      /\(--sandbox\): Not my name\. Name yours/,
    ],
  ])('says what is there instead: %s', async (_case, handle, message) => {
    const { code, stderr, url } = await against(handle, 'status')
    expect(code).toBe(3)
    expect(stderr).toContain(`Something other than a sandbox is at ${url} (--sandbox): `)
    expect(stderr).toMatch(message)
  })

  test('works with one of the same line of versions only', async () => {
    expect((await against(answering({ ...STATUS, version: '0.1.9' }), 'status')).code).toBe(0)
    const other = await against(answering({ ...STATUS, version: '0.2.0' }), 'status')
    expect(other.code).toBe(3)
    expect(other.stderr).toContain('is version 0.2.0, and this command is 0.1.0: run both from the same')
  })

  test('reports a sandbox that ends meanwhile', async () => {
    const { code, stderr, url } = await against(
      failing((request) => request.socket.destroy()),
      'advance',
      '1h',
    )
    expect({ code, stderr }).toEqual({ code: 3, stderr: `The sandbox at ${url} is gone: ECONNRESET.\n` })
  })

  test.each<[RequestListener, number, string]>([
    [answering({ error: { code: 'x', message: 'Not that way.' } }, 400), 2, 'Not that way.'],
    [answering('oops', 500), 1, 'The sandbox answered 500.'],
  ])('passes on what the sandbox refuses', async (handle, code, message) => {
    const ran = await against(failing(handle), 'reset')
    expect(ran).toMatchObject({ code, stderr: expect.stringContaining(message) })
  })

  test('can be aborted while it waits for the sandbox', async () => {
    const stopped = new AbortController()
    const { url } = await listening(failing(() => stopped.abort()))
    const argv = ['advance', '72h', '--sandbox', new URL(url).origin]
    expect((await run(argv, { signal: stopped.signal })).code).toBe(130)
  })
})

const DEFAULT = { url: 'http://127.0.0.1:4010', source: 'the default port' }

/** The places where a command looks, in a folder with this in the file of a sandbox. */
function placesOf(file: string, env: Record<string, string> = {}, flag?: string): readonly object[] {
  const cwd = emptyFolder()
  writeFileSync(join(cwd, SANDBOX_FILE), file)
  return candidates(flag, { env, cwd: () => cwd } as Partial<Io> as Io)
}

describe('a sandbox is looked for', () => {
  const FILE = '{"url":"http://127.0.0.1:1"}'

  test('where the flag says, else where the environment says, and nowhere else', () => {
    const [other, flag] = ['http://127.0.0.1:2', 'http://127.0.0.1:3']
    const env = { TIX_SANDBOX_URL: other }
    expect(placesOf(FILE, env, flag)).toEqual([{ url: flag, source: '--sandbox', isUserNamed: true }])
    expect(placesOf(FILE, env)).toEqual([{ url: other, source: 'TIX_SANDBOX_URL', isUserNamed: true }])
    expect(placesOf(FILE, env, 'none')).toEqual([])
    expect(placesOf(FILE, { TIX_SANDBOX_URL: 'none' })).toEqual([])
  })

  test('else where the file of the folder says, then at the default port', () => {
    const place = { url: 'http://127.0.0.1:1', source: SANDBOX_FILE, isFromFile: true }
    expect(placesOf(FILE, { TIX_SANDBOX_URL: '' })).toEqual([place, DEFAULT])
  })

  test.each([
    ['is no JSON', '{"url"'],
    ['is null', 'null'],
    ['names no URL', '{"url":"x"}'],
    ['names a machine that is called like this one', '{"url":"http://127.0.0.1.example.com"}'],
    ['names no machine', '{"url":"file://localhost/x"}'],
    ['names another protocol', '{"url":"https://127.0.0.1:1"}'],
  ])('only at the default port where the file %s', (_, file) => {
    expect(placesOf(file)).toEqual([DEFAULT])
  })

  test('not at all if the environment variable is invalid', async () => {
    expect(await cliRefusalOf(() => placesOf('null', { TIX_SANDBOX_URL: '127.0.0.1:4010' }))).toEqual({
      exitCode: 2,
      message:
        'TIX_SANDBOX_URL "127.0.0.1:4010" is not an http or https URL. Did you mean http://127.0.0.1:4010?',
    })
  })
})
