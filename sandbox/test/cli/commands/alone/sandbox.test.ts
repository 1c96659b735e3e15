/** @module-tag slow */
import { readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { verifySignature } from 'tix-webhooks'
import { describe, expect, test } from 'vitest'
import { freePort } from '../../../../../test/support/free-port.js'
import { begin, emptyFolder, isEvent, receiver, run, sandbox } from '../../../support/cli.js'

const FILE = '.tix-webhooks-sandbox.json'

describe('the sandbox', () => {
  test('prints a key and a secret that work, and logs API requests and their errors', async () => {
    const { url: to, arrivals } = await receiver()
    const { ready, url, json, session } = await sandbox(
      `--to ${to} --events order.created,event.* --secret whsec_mine`,
    )
    expect(ready).toEqual({
      event: 'ready',
      version: expect.stringMatching(/^\d+\.\d+\.\d+$/),
      url,
      api_url: `${url}/v2`,
      key: 'sk_test_local',
      clock: { now: expect.any(String), frozen: false },
      endpoints: [
        {
          id: expect.stringMatching(/^we_/),
          url: to,
          events: ['order.created', 'event.*'],
          secrets: ['whsec_mine'],
          enabled: true,
          mode: 'test',
        },
      ],
    })
    const headers = { authorization: `bearer ${ready.key}` }
    for (const limit of [1, 0]) await fetch(`${ready.api_url}/events?limit=${limit}`, { headers })
    await session.count(isEvent('request'), 2)
    expect(session.records().filter(isEvent('request'))).toMatchObject([
      { method: 'GET', path: '/v2/events?limit=1', status: 200, key_end: 'ocal' },
      { path: '/v2/events?limit=0', status: 400, error_code: 'parameter_invalid' },
    ])
    await json('trigger', 'event.published', '--wait')
    const [{ body = '', headers: got, path } = {}] = arrivals
    expect(path).toBe('/hooks?a=1&b=2')
    await verifySignature(body, got?.['x-service-signature'], { secret: 'whsec_mine' })
  })

  test('logs the same as text, with the next retry and the end of the retries', async () => {
    const { url: to } = await receiver(() => 500)
    const argv = `sandbox --port 0 --to ${to} --freeze --jitter 0 --retry 5s,90m`
    const session = begin(argv, { cwd: emptyFolder(), asText: true })
    const url = await session.printed(/API +(\S+)\/v2/)
    await run(`trigger order.created --wait --sandbox ${url}`)
    const { records } = await run(`deliveries --json --sandbox ${url}`)
    await run(['resend', String(records()[0]?.id), '--sandbox', url])
    await run(`advance 72h --sandbox ${url}`)
    await fetch(`${url}/v2/events/evt_x`, { headers: { authorization: 'bearer sk_test_x' } })
    await run(`trigger order.created --live --sandbox ${url}`)
    const { code, stdout } = await session.stop()
    expect(code).toBe(0)
    const told = stdout.slice(stdout.indexOf('-->')).replaceAll(/^\d\d:\d\d:\d\d /gm, '')
    const dlv = /dlv_\w+/.exec(told)?.[0]
    const post = `<-- [500] POST ${to} [${dlv}]`
    expect(told.replaceAll(/\d+ ms/g, 'N ms').replace(/msg_\w+/, 'msg_')).toBe(
      [
        `--> order.created [${dlv}]`,
        `${post} attempt 1/3 N ms retry in 5 s`,
        // Once, and not at each attempt.
        '             Your receiver failed with 500: its log has the reason.',
        // It counts for nothing.
        `${post} resent by hand N ms retry in 5 s`,
        `${post} attempt 2/3 N ms retry in 1 h 29 min`,
        `${post} attempt 3/3 N ms given up`,
        '    GET /v2/events/evt_x 404 resource_missing',
        '--> order.created [msg_] no endpoint takes it',
        '',
      ].join('\n'),
    )
    expect(stdout).toContain(`  page      ${url}\n`)
    expect(stdout).toContain(`webhooks  ${to}  *  [we_`)
    expect(stdout.match(/TIX_SIGNING_SECRET=whsec_\S{20,}/g)).toHaveLength(1)
    expect(stdout).toContain("curl -H 'authorization: bearer sk_test_local' ")
  })

  const fileIn = (folder: string): unknown => JSON.parse(readFileSync(join(folder, FILE), 'utf8'))

  test('takes the place of one that runs no more, and leaves the file of another that runs', async () => {
    const cwd = emptyFolder()
    writeFileSync(join(cwd, FILE), `{"url":"http://127.0.0.1:${await freePort()}"}`)
    const first = await sandbox([], { cwd })
    expect(fileIn(cwd)).toEqual({ url: first.url })
    const second = await sandbox([], { cwd })
    expect(second.session.said.stderr).toBe(
      `Commands in this folder still use the sandbox at ${first.url}: name this one with --sandbox ${second.url}\n`,
    )
    await second.session.stop()
    expect(fileIn(cwd)).toEqual({ url: first.url })
    writeFileSync(join(cwd, FILE), '{"url":"http://127.0.0.1:1"}')
    await first.session.stop()
    expect(fileIn(cwd)).toEqual({ url: 'http://127.0.0.1:1' })
  })

  test('runs in a folder that it cannot write to, and leaves a link in the place of its file', async () => {
    const nowhere = await sandbox([], { cwd: '/nowhere' })
    expect(nowhere.session.said.stderr).toContain(`name this sandbox with --sandbox ${nowhere.url}`)

    const cwd = emptyFolder()
    const precious = '{"url":"http://127.0.0.1:1"}'
    writeFileSync(join(cwd, 'precious'), precious)
    symlinkSync(join(cwd, 'precious'), join(cwd, FILE))
    const { session, url } = await sandbox([], { cwd })
    expect(session.said.stderr).toMatch(
      new RegExp(
        `^${FILE} cannot be written \\(it is an? .+, not a file\\): name this sandbox with --sandbox ${url}\n$`,
      ),
    )
    const { stderr } = await run('status', { cwd, env: { TIX_SANDBOX_URL: '' } })
    expect(stderr).not.toContain('127.0.0.1:1 ')
    await session.stop()
    expect(readFileSync(join(cwd, FILE), 'utf8')).toBe(precious)
  })

  test('follows its options: at a time, frozen, with the same ids, under assumptions, with keys and a rate', async () => {
    const argv =
      '--start-at 2031-05-01T12:00:00+02:00 --freeze --seed 7 --to http://127.0.0.1:9 --assume signature=body --assume network-error=final --keys sk_test_a,sk_live_b --rate-limit 2/h'
    const [{ ready }, { ready: other }] = [await sandbox(argv), await sandbox(argv)]
    expect(ready).toMatchObject({
      clock: { now: '2031-05-01T10:00:00.000Z', frozen: true },
      endpoints: [{ id: (other.endpoints as { id: string }[])[0]?.id }],
      key: 'sk_test_a',
    })
    const described = await fetch(`${ready.url}/openapi.json`)
    expect(await described.json()).toMatchObject({
      'x-assumptions': { signature: { chosen: 'body' }, 'network-error': { chosen: 'final' } },
    })
    const statuses: number[] = []
    for (const key of ['sk_test_a', 'sk_test_local', 'sk_test_a']) {
      const headers = { authorization: `bearer ${key}` }
      statuses.push((await fetch(`${ready.api_url}/events`, { headers })).status)
    }
    expect(statuses).toEqual([200, 401, 429])
  })

  test('says what to do where a sandbox has its port', async () => {
    const { url } = await sandbox()
    expect(await run(['sandbox', '--port', new URL(url).port])).toMatchObject({
      code: 2,
      stderr: `A sandbox is already running at ${url}. To add your endpoint to it: tix-webhooks endpoints add URL. To run another one: --port 0\n`,
    })
  })

  test('changes nothing and sends nothing when its port is taken', async () => {
    const { url: to, arrivals } = await receiver(() => 500)
    const { port } = await receiver()
    const cwd = emptyFolder()
    const argv = ['--state', 'state.json', '--to', to, '--retry', '1s,2s,3s', '--secret']
    const first = await sandbox([...argv, 'whsec_first', '--freeze'], { cwd })
    await first.json('trigger', 'order.created', '--repeat', '3', '--no-wait')
    await first.json('advance', '0s')
    await first.json('clock', 'run')
    await first.session.stop()
    // Deliveries that wait are overdue when they are restored.
    const path = join(cwd, 'state.json')
    const state = JSON.parse(readFileSync(path, 'utf8'))
    const before = JSON.stringify({ ...state, saved_at: '2020-01-01T00:00:00.000Z' })
    writeFileSync(path, before)
    arrivals.length = 0

    const refused = await run(['sandbox', '--port', String(port), ...argv, 'whsec_second'], { cwd })
    expect(refused.code).toBe(2)
    expect(arrivals).toEqual([])
    expect(readFileSync(path, 'utf8')).toBe(before)
    expect(readdirSync(cwd)).toEqual(['state.json'])

    // It delivers as it would have, and signs by the given secret.
    const started = await sandbox([...argv, 'whsec_second'], { cwd })
    await started.session.count(isEvent('attempt'), 3)
    for (const { body, headers } of arrivals.slice(0, 3)) {
      await verifySignature(body, String(headers['x-service-signature']), { secret: 'whsec_second' })
    }
  })
})
