/** @module-tag slow */
import { execFileSync } from 'node:child_process'
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { verifySignature } from 'tix-webhooks'
import { describe, expect, test } from 'vitest'
import { freePort } from '../../../../../test/support/free-port.js'
import { emptyFolder, isEvent, receiver, run, sandbox } from '../../../support/cli.js'

const FILE = '.tix-webhooks-sandbox.json'

describe('the sandbox', () => {
  test('prints a key and a secret that work', async () => {
    const { url: to, arrivals } = await receiver()
    const { ready, url } = await sandbox(`--to ${to} --events order.created,event.* --secret whsec_mine`)
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
    const headers = { authorization: `bearer ${ready.key}`, 'content-type': 'application/json' }
    const body = JSON.stringify({
      title: 'Harbour Jazz',
      venue: { name: 'The Boathouse' },
      doors_at: '2099-12-01T19:00:00+01:00',
      tickets: [{ name: 'GA', price_cents: 2500, quantity: 1 }],
    })
    const created = await fetch(`${ready.api_url}/events`, { method: 'POST', headers, body })
    const { id } = (await created.json()) as { id: string }
    await fetch(`${ready.api_url}/events/${id}/publish`, { method: 'POST', headers })
    await expect.poll(() => arrivals.length).toBe(1)
    const { body: sent = '', headers: got, path } = arrivals[0] ?? {}
    expect(path).toBe('/hooks?a=1&b=2')
    await verifySignature(sent, got?.['x-service-signature'], { secret: 'whsec_mine' })
  })

  test('logs API requests and their errors, with only the end of a key', async () => {
    const { session, ready } = await sandbox()
    const headers = { authorization: 'bearer sk_test_0123456789' }
    await fetch(`${ready.api_url}/events?limit=1`, { headers })
    await fetch(`${ready.api_url}/events?limit=0`, { headers })
    await session.count(isEvent('request'), 2)
    expect(session.records().slice(1)).toMatchObject([
      { event: 'request', method: 'GET', path: '/v2/events?limit=1', status: 200, key_end: '6789' },
      { event: 'request', path: '/v2/events?limit=0', status: 400, error_code: 'parameter_invalid' },
    ])
    expect(session.said.stdout).not.toContain('sk_test_0123456789')
  })

  test('logs the same as text, with the next retry and the end of the retries', async () => {
    const { url: to } = await receiver(() => 500)
    const folder = emptyFolder()
    const stopped = new AbortController()
    let url: string | undefined
    const ran = run(`sandbox --port 0 --to ${to} --freeze --jitter 0 --retry 5s,90m`, {
      cwd: folder,
      signal: stopped.signal,
      onOutput({ stdout }) {
        const found = /API +(\S+)\/v2/.exec(stdout)?.[1]
        if (url !== undefined || found === undefined) return
        url = found
        void exercise(found)
      },
    })
    async function exercise(at: string): Promise<void> {
      await run(`trigger order.created --wait --sandbox ${at}`)
      const { records } = await run(`deliveries --json --sandbox ${at}`)
      await run(['resend', String(records()[0]?.id), '--sandbox', at])
      await run(`advance 72h --sandbox ${at}`)
      await fetch(`${at}/v2/events/evt_x`, { headers: { authorization: 'bearer sk_test_x' } })
      await run(`trigger order.created --live --sandbox ${at}`)
      stopped.abort()
    }
    const { code, stdout } = await ran
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

  test('is found by commands of its folder and of those below, while it runs', async () => {
    const { session, url, folder } = await sandbox()
    expect(fileIn(folder)).toEqual({ url })
    const below = join(folder, 'packages', 'shop')
    mkdirSync(below, { recursive: true })
    for (const cwd of [folder, below]) {
      const { code, records } = await run('status --json', { cwd, env: { TIX_SANDBOX_URL: '' } })
      expect([code, records()]).toMatchObject([0, [{ url }]])
    }
    await session.stop()
    expect(readdirSync(folder)).toEqual(['packages'])
  })

  test('leaves the file of another sandbox that runs, and says how to name itself', async () => {
    const first = await sandbox()
    const second = await sandbox([], { cwd: first.folder })
    expect(fileIn(first.folder)).toEqual({ url: first.url })
    expect(second.session.said.stderr).toBe(
      `Commands in this folder still use the sandbox at ${first.url}: name this one with --sandbox ${second.url}\n`,
    )
    await second.session.stop()
    expect(fileIn(first.folder)).toEqual({ url: first.url })
  })

  test('takes the place of one that runs no more, and leaves a file that another has written', async () => {
    const cwd = emptyFolder()
    writeFileSync(join(cwd, FILE), `{"url":"http://127.0.0.1:${await freePort()}"}`)
    const { session, url } = await sandbox([], { cwd })
    expect(fileIn(cwd)).toEqual({ url })
    writeFileSync(join(cwd, FILE), '{"url":"http://127.0.0.1:1"}')
    await session.stop()
    expect(fileIn(cwd)).toEqual({ url: 'http://127.0.0.1:1' })
  })

  test('runs in a folder that it cannot write to, and says how to name it', async () => {
    const { session, url } = await sandbox([], { cwd: '/nowhere' })
    expect(session.said.stderr).toContain(`name this sandbox with --sandbox ${url}`)
  })

  test.each<[string, (path: string, target: string) => unknown]>([
    ['a link to a file', (path, target) => symlinkSync(target, path)],
    ['a link to nothing', (path, target) => symlinkSync(`${target}.new`, path)],
    ['a folder', (path) => mkdirSync(path)],
    ['a pipe that nobody writes to', (path) => execFileSync('mkfifo', [path])],
  ])('leaves what stands in the place of its file: %s', async (_, put) => {
    const outside = emptyFolder()
    const target = join(outside, 'precious')
    writeFileSync(target, '{"url":"http://127.0.0.1:1"}')
    const folder = emptyFolder()
    put(join(folder, FILE), target)
    const before = lstatSync(join(folder, FILE)).ino
    const { session, url } = await sandbox([], { cwd: folder })
    expect(session.said.stderr).toMatch(
      new RegExp(
        `^${FILE} cannot be written \\(it is an? .+, not a file\\): name this sandbox with --sandbox ${url}\n$`,
      ),
    )
    const { stderr } = await run('status', { cwd: folder, env: { TIX_SANDBOX_URL: '' } })
    expect(stderr).not.toContain('127.0.0.1:1 ')
    await session.stop()
    expect(readFileSync(target, 'utf8')).toBe('{"url":"http://127.0.0.1:1"}')
    expect(readdirSync(outside)).toEqual(['precious'])
    expect(lstatSync(join(folder, FILE)).ino).toBe(before)
    expect(readdirSync(folder)).toEqual([FILE])
  })

  test('follows its options: frozen, at a time, with the same ids each time', async () => {
    const argv = '--start-at 2031-05-01T12:00:00+02:00 --freeze --seed 7 --to http://127.0.0.1:9'
    const [{ ready: one }, { ready: other }] = [await sandbox(argv), await sandbox(argv)]
    expect(one).toMatchObject({
      clock: { now: '2031-05-01T10:00:00.000Z', frozen: true },
      endpoints: [{ id: (other.endpoints as { id: string }[])[0]?.id }],
    })
  })

  test('follows the given assumptions, takes the given keys, and limits the rate', async () => {
    const { ready } = await sandbox(
      '--assume signature=body --assume network-error=final --keys sk_test_a,sk_live_b --rate-limit 2/h',
    )
    const described = await fetch(`${ready.url}/openapi.json`)
    expect(await described.json()).toMatchObject({
      'x-assumptions': {
        signature: { chosen: 'body' },
        'network-error': { chosen: 'final' },
        'created-at': { chosen: 'milliseconds' },
      },
    })
    const statuses: number[] = []
    for (const key of ['sk_test_a', 'sk_test_local', 'sk_test_a']) {
      const headers = { authorization: `bearer ${key}` }
      statuses.push((await fetch(`${ready.api_url}/events`, { headers })).status)
    }
    expect(statuses).toEqual([200, 401, 429])
    expect(ready.key).toBe('sk_test_a')
  })

  test('goes on from its state file, whose endpoints keep their secrets unless another one is given', async () => {
    const folder = emptyFolder()
    const argv = ['--state', 'state.json', '--to', 'http://127.0.0.1:9/hooks']
    const first = await sandbox(argv, { cwd: folder })
    const secretsOf = ({ ready }: typeof first): unknown =>
      (ready.endpoints as { secrets: string[] }[]).map(({ secrets }) => secrets)
    await first.json('trigger', 'event.published', '--set', 'data.event.title=Kept', '--no-wait')
    await first.session.stop()
    expect(existsSync(join(folder, 'state.json'))).toBe(true)

    const second = await sandbox(argv, { cwd: folder })
    expect(secretsOf(second)).toEqual(secretsOf(first))
    expect(await second.json('deliveries')).toMatchObject([{ type: 'event.published' }])
    await second.session.stop()

    const third = await sandbox([...argv, '--secret', 'whsec_given'], { cwd: folder })
    expect(secretsOf(third)).toEqual([['whsec_given']])
  })
})
