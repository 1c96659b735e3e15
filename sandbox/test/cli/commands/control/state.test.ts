import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { receiver } from '../../../support/cli-receiver.js'
import { sandbox } from '../../../support/cli-sandbox.js'
import { listening } from '../../../support/cli-server.js'

test('status prints the URL, the clock, the counts, the scenarios and the assumptions', async () => {
  const { run, json, url } = await sandbox(
    '--start-at 2031-05-01T12:00:00Z --freeze --assume signature=body --to http://127.0.0.1:9',
  )
  await json('trigger', 'order.created', '--no-wait')
  await run('trigger order.created --scenario valid')
  const { stdout } = await run('status')
  expect(stdout).toContain(`at ${url}\n`)
  expect(stdout).toContain('clock        2031-05-01T12:00:00.000Z, frozen, next: ')
  expect(stdout).toMatch(/^test {9}2 events/m)
  expect(stdout).toMatch(
    /^deliveries {3}0 pending, 1 retrying, 0 delivered, 0 failed, 0 skipped\nscenarios {4}0 passed, 1 wrong answer$/m,
  )
  expect(stdout).toContain('signature=body')
  expect(await json('status')).toMatchObject([{ url, counts: { test: { orders: 2 } } }])
})

test('reset ends an advance that waits for a receiver without end', async () => {
  let asked = (): void => {}
  const isAsked = new Promise<void>((resolve) => {
    asked = resolve
  })
  const { url: to } = await listening(() => asked())
  const { json } = await sandbox(`--to ${to} --timeout 0 --freeze`)
  await json('trigger', 'order.created', '--no-wait')
  await isAsked
  const advance = json('advance', '72h')
  await json('reset')
  await advance
})

test('fill fills the sandbox from a file, and from the standard input', async () => {
  const { run, folder } = await sandbox()
  writeFileSync(join(folder, 'fixtures.json'), '{"venues":[{"name":"The Hall"}]}')
  expect(await run('fill fixtures.json')).toMatchObject({
    code: 0,
    stdout: 'Created 1 venue, 0 events, 0 orders.\n',
  })
  const { records } = await run('fill - --json', { stdin: '{"venues":[{"name":"The Barn"}]}' })
  expect(records()).toEqual([{ venues: 1, events: 0, orders: 0 }])
})

test('openapi prints the description of the running sandbox', async () => {
  const { run, url } = await sandbox()
  const { code, stdout } = await run('openapi')
  expect(code).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({ openapi: '3.1.0', servers: [{ url }] })
  expect(stdout).toContain('\n  "')
})

describe('endpoints', () => {
  test('are listed by endpoints list, too, which has the help of endpoints', async () => {
    const { run } = await sandbox('--to http://127.0.0.1:9')
    expect((await run('endpoints list')).stdout).toBe((await run('endpoints')).stdout)
    for (const argv of ['endpoints list --help', 'help endpoints list']) {
      expect((await run(argv)).stdout).toContain('Usage: tix-webhooks endpoints ')
    }
  })

  test('are added, with their secret shown, and listed, without it', async () => {
    const { run, json } = await sandbox()
    const added = await run('endpoints add http://127.0.0.1:9/hooks?a=1&b=2 --events order.created,event.*')
    expect(added.code).toBe(0)
    const [, id, secret] =
      /^(we_\w+) {2}http:\/\/127\.0\.0\.1:9\/hooks\?a=1&b=2 {2}order\.created,event\.\*\nTIX_SIGNING_SECRET=(whsec_\S+)\n$/.exec(
        added.stdout,
      ) ?? []
    expect(await json('endpoints')).toEqual([
      {
        id,
        url: 'http://127.0.0.1:9/hooks?a=1&b=2',
        events: ['order.created', 'event.*'],
        enabled: true,
        mode: 'test',
        secrets: 1,
      },
    ])
    const listed = await run('endpoints')
    expect(listed.stdout).toContain(id)
    expect(listed.stdout).not.toContain(secret)
  })

  test('are disabled, enabled, moved, rotated and removed', async () => {
    const { url, arrivals } = await receiver()
    const { run, json } = await sandbox('--to http://127.0.0.1:9 --secret whsec_old')
    const [{ id = '' } = {}] = (await json('endpoints')) as { id: string }[]

    expect(await json('endpoints', 'disable', id)).toMatchObject([{ id, enabled: false }])
    expect((await run('endpoints')).stdout).toContain('disabled')
    expect((await run('trigger order.created')).stdout).toContain('skipped: The endpoint is disabled.')
    expect(await json('endpoints', 'enable', id)).toMatchObject([{ id, enabled: true }])
    expect(await json('endpoints', 'set-url', id, url)).toMatchObject([{ id, url }])
    await json('resend', '--failed')
    expect(arrivals).toHaveLength(1)

    const rotated = await run(`endpoints rotate ${id} --secret whsec_new --json`)
    expect(rotated).toMatchObject({ code: 0, stderr: '' })
    expect(rotated.records()).toMatchObject([{ id, secrets: 2 }])
    expect(rotated.stdout).not.toContain('whsec_')
    await json('trigger', 'order.created', '--wait')
    expect(arrivals[1]?.headers['x-service-signature']).toMatch(/^t=\d+,v1=\w+,v1=\w+$/)
    const dropped = await run(`endpoints rotate ${id} --drop-old --json`)
    expect(dropped.records()).toMatchObject([{ secrets: 1 }])
    expect(dropped.stderr).toBe(`To see the new secret: tix-webhooks secret ${id}\n`)

    expect(await json('endpoints', 'remove', id)).toEqual([{ id, removed: true }])
    expect(await run('endpoints')).toMatchObject({
      code: 0,
      stdout: '',
      stderr: 'There is no endpoint yet. Add one with: tix-webhooks endpoints add URL\n',
    })
  })
})

describe('faults', () => {
  test('are added, listed with what is left of them, and removed', async () => {
    const { run, json, url } = await sandbox()
    const added = await run('faults add /v2/events --status 503 --times 2')
    const [, id = ''] =
      /^(flt_\w+) {2}any \/v2\/events… {2}answered 503 {2}2 left {2}0 hits\n$/.exec(added.stdout) ?? []
    expect(added).toMatchObject({ code: 0, stderr: `To remove it: tix-webhooks faults remove ${id}\n` })
    await run('faults add /v2/venues --method get --delay 2s --drop')
    expect((await fetch(`${url}/v2/events`)).status).toBe(503)
    expect(await json('faults')).toMatchObject([
      { id, path: '/v2/events', status: 503, times: 1, hits: 1 },
      { path: '/v2/venues', method: 'GET', delay_ms: 2000, drop: true, hits: 0 },
    ])
    const { stdout } = await run('faults list')
    expect(stdout.replaceAll(/flt_\w+/g, 'flt_').replaceAll(/ {2,}/g, '  ')).toBe(
      [
        'FAULT  REQUESTS  EFFECT  LEFT  HITS',
        'flt_  any /v2/events…  answered 503  1 left  1 hit',
        'flt_  GET /v2/venues…  2 s late, dropped  until removed  0 hits',
        '',
      ].join('\n'),
    )
    expect((await run(`faults remove ${id}`)).stdout).toBe(`Removed ${id}.\n`)
    expect(await json('faults')).toHaveLength(1)
    expect((await run('faults remove --all')).stdout).toBe('Removed all faults.\n')
    expect(await run('faults')).toMatchObject({
      code: 0,
      stdout: '',
      stderr: 'There are no faults. To add one: tix-webhooks faults add /v2/events --status 503\n',
    })
  })
})

test('orders are listed, the newest first, with tickets and whether they were refunded, and filtered', async () => {
  interface Order {
    id: string
    event_id: string
    tickets: { id: string }[]
  }
  const { run, json, url } = await sandbox('--freeze')
  for (const argv of ['trigger order.created --no-wait', 'trigger order.created --no-wait']) await run(argv)
  const [refunded, paid] = (await json('orders')) as unknown as [Order, Order]
  const headers = { authorization: 'bearer sk_test_local' }
  await fetch(`${url}/v2/events/${refunded.event_id}/cancel`, { method: 'POST', headers })
  const line = ({ id, event_id, tickets }: Order, state: string, buyer: number) =>
    `${id}  ${state}  5400  buyer${buyer}@example.com  ${event_id}  2 × general admission ${tickets.map((ticket) => ticket.id).join(' ')}`
  expect((await run('orders')).stdout.replaceAll(/ {2,}/g, '  ')).toBe(
    [
      'ORDER  STATE  CENTS  BUYER  EVENT  TICKETS',
      line(refunded, 'refunded', 2),
      line(paid, 'paid', 1),
      '',
    ].join('\n'),
  )
  const ids = async (argv: string) => (await run(`orders --json ${argv}`)).records().map(({ id }) => id)
  expect(await ids('--refunded')).toEqual([refunded.id])
  expect(await ids('--paid')).toEqual([paid.id])
  expect(await ids(`--event ${paid.event_id}`)).toEqual([paid.id])
  expect((await run('orders --limit 1')).stderr).toBe('1 more match: list more with --limit.\n')
})

test('clock shows the time, to people and to programs', async () => {
  const { run, json } = await sandbox('--start-at 2031-05-01T12:00:00Z --freeze')
  const now = '2031-05-01T12:00:00.000Z'
  expect(await json('clock')).toEqual([
    { now, frozen: true, next_at: null, next_what: null, real_now: expect.any(String) },
  ])
  expect((await run('clock')).stdout).toBe(`${now}, frozen, nothing is due\n`)
})

test('advance says what was delivered, is retried, and was given up after how many attempts', async () => {
  const { url } = await receiver((_, index) => (index === 1 ? 200 : 500))
  const { run } = await sandbox(`--to ${url} --freeze --retry 5s,1m --jitter 0`)
  await run('trigger order.created')
  expect((await run('clock')).stdout).toMatch(/next: attempt 2 of order\.created \[dlv_\w+\] in 5 s\n$/)
  expect((await run('advance --to next')).stdout).toMatch(/\n1 delivered\n$/)
  await run('trigger order.created --repeat 2')
  const progress = 'Advancing 10s…\r\u001b[2K'
  const advanced = await run('advance 10s --no-color', { isTTY: true })
  expect(advanced).toMatchObject({ stdout: expect.stringMatching(/\n2 retrying\n$/), stderr: progress })
  expect((await run('advance 1h')).stdout).toMatch(
    /\n2 given up after 3 attempts\nTo list them: tix-webhooks deliveries --status failed\n$/,
  )
  expect((await run('advance 1h')).stdout).toMatch(/\nNo delivery was due\.\n$/)
})
