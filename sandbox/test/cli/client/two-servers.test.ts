/** @module-tag slow */
import type { RequestListener } from 'node:http'
import { tixWebhooks } from 'tix-webhooks/node'
import { signedDelivery } from 'tix-webhooks/testing'
import { describe, expect, test } from 'vitest'
import { begin, listening, run, sandbox } from '../../support/cli.js'

const secret = 'whsec_two_servers_0123456789'
const app = () =>
  tixWebhooks({ secret, on: { 'order.created': () => {}, 'event.*': () => {} }, onError: () => {} })
const stranger: RequestListener = (_request, response) => void response.writeHead(200).end('It works!')

/** Two servers on one port, at 127.0.0.1 and at [::1], and the URL of both by name. */
async function two(at4: RequestListener, at6: RequestListener): Promise<string> {
  const port = Number(new URL((await listening(at4)).url).port)
  return (await listening(at6, port, '::1')).url
}

const FOUND =
  /^localhost:\d+ is two servers: to a request without a signature 127\.0\.0\.1:\d+ answers 200, and \[::1\]:\d+ answers 400\. .+ Write 127\.0\.0\.1 or \[::1\] in the URL/m

describe('two servers behind localhost', () => {
  test('are reported by check before it probes, and by trigger', async () => {
    const url = await two(stranger, app())
    const { run: runHere } = await sandbox(`--to ${url} --secret ${secret}`)
    for (const [argv, code] of [
      [`check ${url} --secret ${secret}`, 2],
      [`trigger order.created --to ${url} --secret ${secret}`, 1],
      ['trigger order.created', 1],
    ] as const) {
      expect(await runHere(argv)).toMatchObject({ code, stderr: expect.stringMatching(FOUND) })
    }
    expect(await runHere('trigger order.created --no-wait')).toMatchObject({ code: 0 })
  })

  test('are reported by listen, which goes on', async () => {
    const url = await two(stranger, app())
    const session = begin(`listen --forward-to ${url} --secret ${secret}`)
    const { url: to } = await session.record(({ event }) => event === 'listening')
    const { body, headers } = await signedDelivery('order.created', { secret })
    expect((await fetch(String(to), { method: 'POST', headers, body })).status).toBe(200)
    await expect.poll(() => session.said.stderr).toMatch(FOUND)
  })

  test.each<[string, () => Promise<string>]>([
    ['one server at both addresses', async () => (await listening(app(), 0, '::')).url],
    ['two servers that answer alike', () => two(app(), app())],
    ['one that is alone there', async () => (await listening(app())).url.replace('127.0.0.1', 'localhost')],
    ['a literal address of two', async () => (await two(app(), stranger)).replace('localhost', '127.0.0.1')],
  ])('are not taken for %s', async (_, open) => {
    const only = ['--only', 'wrong-secret', '--secret', secret]
    expect(await run(['check', await open(), ...only])).toMatchObject({ code: 0, stderr: '' })
  })
})
