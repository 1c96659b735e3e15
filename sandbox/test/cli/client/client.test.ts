import type { RequestListener } from 'node:http'
import { describe, expect, test } from 'vitest'
import { freePort } from '../../../../test/support/free-port.js'
import { SANDBOX_FILE } from '../../../cli/client/find-sandbox.js'
import {
  answering,
  emptyFolder,
  failing,
  listening,
  type Ran,
  run,
  STATUS,
  sandbox,
} from '../../support/cli.js'

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
    expect(await run('status', { env: { TIX_SANDBOX_URL: url } })).toMatchObject({
      code: 3,
      stderr: `No sandbox is running at ${url} (TIX_SANDBOX_URL). Start one with: tix-webhooks sandbox\n`,
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
    ['nothing of the kind', answering('', 404), /it answers 404 to GET \/_sandbox/],
    ['another JSON', answering({ name: 'vite', version: '7' }), /it answers 200/],
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

  test.each([
    ['0.1.9', 0],
    ['0.2.0', 3],
    ['1.0.0', 3],
  ])('works with one of the same line of versions only: %s', async (version, code) => {
    const ran = await against(answering({ ...STATUS, version }), 'status')
    expect(ran.code).toBe(code)
    if (code === 0) return
    expect(ran.stderr).toMatch(
      new RegExp(`is version ${version}, and this command is 0\\.1\\.0: run both from the same installation`),
    )
  })

  test('reports a sandbox that ends meanwhile', async () => {
    const { code, stderr, url } = await against(
      failing((request) => request.socket.destroy()),
      'advance',
      '1h',
    )
    expect({ code, stderr }).toEqual({ code: 3, stderr: `The sandbox at ${url} is gone: ECONNRESET.\n` })
  })

  test.each<[string, RequestListener, number, string]>([
    ['in words', answering({ error: { code: 'x', message: 'Not that way.' } }, 400), 2, 'Not that way.\n'],
    ['without a word', answering('oops', 500), 1, 'The sandbox answered 500.\n'],
  ])('passes on what the sandbox refuses %s', async (_case, handle, code, message) => {
    const ran = await against(failing(handle), 'reset')
    expect(ran.code).toBe(code)
    expect(ran.stderr.startsWith(message)).toBe(true)
  })

  test('can be aborted while it waits for the sandbox', async () => {
    const stopped = new AbortController()
    const { url } = await listening(failing(() => stopped.abort()))
    const argv = ['advance', '72h', '--sandbox', new URL(url).origin]
    expect((await run(argv, { signal: stopped.signal })).code).toBe(130)
  })

  test('speaks with a sandbox on a port that fetch refuses', async () => {
    const { session, url } = await sandboxOnRefusedPort()
    await expect(fetch(`${url}/_sandbox`)).rejects.toThrow()
    expect((await run(`status --sandbox ${url}`)).code).toBe(0)
    await session.stop()
  })
})

const REFUSED_BY_FETCH = ['10080', '6697', '6669', '6566', '6000']

/** On the first of these ports that is free. */
async function sandboxOnRefusedPort(): Promise<Awaited<ReturnType<typeof sandbox>>> {
  for (const port of REFUSED_BY_FETCH) {
    try {
      return await sandbox([], { port })
    } catch {
      // The next one may be free.
    }
  }
  throw new Error(`None of the ports ${REFUSED_BY_FETCH.join(', ')} is free`)
}
