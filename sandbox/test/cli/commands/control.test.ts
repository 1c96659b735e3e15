import { describe, expect, test } from 'vitest'
import { LIMITS } from '../../../engine/record/limits.js'
import { receiver, sandbox } from '../../support/cli.js'
import { lower } from '../../support/lowered.js'

async function withDeliveries() {
  const { url } = await receiver(({ body }) =>
    String(body).includes('order.created')
      ? { status: 500, headers: { 'x-trace': 'abc' }, body: 'a fault\u001b[2J of mine' }
      : 200,
  )
  const running = await sandbox(`--to ${url} --freeze`)
  for (const kind of ['order.created', 'event.published', 'order.created']) {
    await running.run(`trigger ${kind} --wait`)
  }
  return { ...running, to: url }
}

describe('deliveries', () => {
  test('are listed, the newest first', async () => {
    const { run, json, to } = await withDeliveries()
    const { stdout } = await run('deliveries')
    const shown = stdout.replaceAll(/dlv_\w+/g, 'dlv_').replaceAll(/\d{4}-\S+Z/g, 'AT')
    expect(shown.replaceAll(/ {2,}/g, '  ')).toBe(
      [
        'DELIVERY  KIND  STATUS  ATTEMPTS  LAST  NEXT  CREATED  ENDPOINT',
        `dlv_  order.created  retrying  1  500  in 5 s  AT  ${to}`,
        `dlv_  event.published  delivered  1  200  AT  ${to}`,
        `dlv_  order.created  retrying  1  500  in 5 s  AT  ${to}`,
        '',
      ].join('\n'),
    )
    expect(await json('deliveries', '--limit', '2')).toHaveLength(2)
    expect(await json('deliveries', '--endpoint', 'we_other')).toEqual([])
  })

  test('are shown whole, without control characters of their answers', async () => {
    const { run, json } = await withDeliveries()
    const [{ id = '', body = '' } = {}] = (await json('deliveries')) as { id: string; body: string }[]
    const { stdout } = await run(`deliveries show ${id}`)
    expect(stdout).toContain(`\n${body}\n`)
    expect(stdout).toMatch(/^attempt 1 \(by the schedule\) at \d{4}-/m)
    expect(stdout).toMatch(/^ {4}> x-service-signature: t=\d+,v1=/m)
    expect(stdout).toMatch(/^ {4}< x-trace: abc$/m)
    expect(stdout).toContain('    a fault\ufffd[2J of mine')
    // The body of an attempt that differs from the message is shown, too.
    await run('trigger order.created --scenario not-json')
    const [{ id: spoilt } = {}] = await json('deliveries')
    const [{ attempts } = {}] = (await json('deliveries', 'show', String(spoilt))) as {
      attempts: { request: { body: string } }[]
    }[]
    expect((await run(`deliveries show ${spoilt}`)).stdout).toContain(
      `\n    > ${attempts?.[0]?.request.body}\n`,
    )
  })

  test('fail a CI job where one failed, but not for what a scenario sent', async () => {
    const { url } = await receiver(() => 401)
    const { run } = await sandbox(`--to ${url} --freeze --retry 1s`)
    const failed = 'deliveries --status failed'
    const codes: number[] = []
    for (const argv of ['trigger order.created --scenario stale', 'trigger order.created', 'advance 72h']) {
      await run(argv)
      codes.push((await run(`${failed} --exit-code`)).code)
    }
    await run('trigger order.created --scenario valid --repeat 25')
    codes.push((await run(`${failed} --exit-code`)).code, (await run(failed)).code)
    expect(codes).toEqual([0, 0, 1, 1, 0])
  })

  test('fail a CI job for what is parked, until it is handled', async () => {
    let body = '{"outcome":"parked"}'
    const { url } = await receiver(() => ({ status: 200, body }))
    const { run, json } = await sandbox(`--to ${url} --freeze --events order.created`)
    const ci = 'deliveries --status failed --exit-code'
    await run('trigger order.created --scenario valid')
    expect((await run(ci)).code).toBe(0)
    await run('trigger order.created --wait')
    expect(await run(ci)).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining(
        '\n1 was answered 2xx, but parked: it is not handled. To list the delivered ones: tix-webhooks deliveries --status delivered\n',
      ),
    })
    expect((await run(`${ci} --type event.*`)).code).toBe(0)
    expect((await run('deliveries --status retrying --exit-code')).code).toBe(0)
    body = '{"outcome":"duplicate"}'
    const [{ id = '' } = {}] = (await json('deliveries')) as { id: string }[]
    await run(`resend ${id}`)
    expect((await run(ci)).code).toBe(0)
  })

  test('fail a CI job though so many came after the failed one that it is no longer kept', async () => {
    lower(LIMITS, { settled: 20 })
    const { run, json } = await sandbox(
      '--to http://127.0.0.1:9 --events order.created --freeze --assume network-error=final',
    )
    const ci = 'deliveries --status failed --exit-code'
    await run('trigger order.created --wait')
    expect((await run(ci)).stderr).toMatch(
      /^To see its attempts and the answers: tix-webhooks deliveries show dlv_\w+\n$/,
    )
    const [{ id = '' } = {}] = (await json('endpoints')) as { id: string }[]
    await run(`endpoints disable ${id}`)
    await run('trigger order.created --repeat 20 --no-wait')
    expect(await run(ci)).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('1 older failed delivery is no longer kept, and so not listed: '),
    })
  })
})

/** A sandbox with two deliveries that failed for good, and the next answers of its receiver, which are 500 otherwise. */
async function withFailures() {
  const answers: number[] = []
  const { url, arrivals } = await receiver(() => answers.shift() ?? 500)
  const running = await sandbox(`--to ${url} --freeze --retry 5s`)
  await running.run('trigger order.created --repeat 2 --wait')
  await running.json('advance', '1m')
  const ids = (await running.json('deliveries')).map(({ id }) => String(id))
  arrivals.length = 0
  return { ...running, ids, arrivals, answers }
}

describe('resend', () => {
  test('sends all that failed, and fails where one fails again', async () => {
    const { run, answers } = await withFailures()
    answers.push(500, 204)
    const again = await run('resend --failed')
    expect(again.code).toBe(1)
    expect(again.stdout.match(/^<-- \[(500|204)\] POST \S+ \[dlv_\w+\] \d+ ms/gm)).toHaveLength(2)
    answers.push(204)
    expect((await run('resend --failed')).code).toBe(0)
    const stderr = 'There is nothing to resend.\n'
    expect(await run('resend --failed')).toMatchObject({ code: 0, stdout: '', stderr })
  })

  test('reports what it leaves out, and why nothing is left', async () => {
    const { run, json } = await withFailures()
    await run('trigger order.created --scenario valid')
    const [{ id = '' } = {}] = (await json('endpoints')) as { id: string }[]
    await run(`endpoints disable ${id}`)
    expect((await run('resend --failed')).stderr).toMatch(
      /^2 deliveries are left out: the endpoint is disabled\. To enable it: .+\n/,
    )
    expect((await run('resend --since 1h')).stderr).toMatch(
      /1 delivery is left out: sent by a scenario\. To resend one, name its id\.\n/,
    )
    await run(`endpoints remove ${id}`)
    expect((await run('resend --failed')).stderr).toMatch(
      /^2 deliveries are left out: the endpoint was removed, .+\n/,
    )
    expect((await run('resend --since 0s')).stderr).toMatch(
      /There is nothing to resend: --since counts back from the virtual time, which is \d{4}-/,
    )
  })
})

test('status prints the URL, the clock, the counts, the scenarios and the assumptions, and openapi the description', async () => {
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
  const openapi = JSON.parse((await run('openapi')).stdout)
  expect(openapi).toMatchObject({ openapi: '3.1.0', servers: [{ url }] })
})

test('endpoints are added, listed without their secret, disabled, enabled, moved, rotated and removed', async () => {
  const { url, arrivals } = await receiver()
  const { run, json } = await sandbox()
  const added = await run('endpoints add http://127.0.0.1:9/hooks?a=1&b=2 --events order.created,event.*')
  const [, id = '', secret] =
    /^(we_\w+) {2}http:\/\/127\.0\.0\.1:9\/hooks\?a=1&b=2 {2}order\.created,event\.\*\nTIX_SIGNING_SECRET=(whsec_\S+)\n$/.exec(
      added.stdout,
    ) ?? []
  const endpoint = { id, url: 'http://127.0.0.1:9/hooks?a=1&b=2', events: ['order.created', 'event.*'] }
  expect(await json('endpoints')).toEqual([{ ...endpoint, enabled: true, mode: 'test', secrets: 1 }])
  expect(await json('endpoints', 'disable', id)).toMatchObject([{ id, enabled: false }])
  const listed = (await run('endpoints list')).stdout
  expect(listed).toContain(`${id}  `)
  expect(listed).toContain('disabled')
  expect(listed).not.toContain(secret)
  expect((await run('trigger order.created')).stdout).toContain('skipped: The endpoint is disabled.')
  expect(await json('endpoints', 'enable', id)).toMatchObject([{ id, enabled: true }])
  expect(await json('endpoints', 'set-url', id, url)).toMatchObject([{ id, url }])
  await json('resend', '--failed')
  expect(arrivals).toHaveLength(1)

  const rotated = await run(`endpoints rotate ${id} --secret whsec_new --json`)
  expect(rotated).toMatchObject({ code: 0, stderr: '' })
  expect(rotated.records()).toMatchObject([{ id, secrets: 2 }])
  expect(rotated.stdout).not.toContain('whsec_')
  const dropped = await run(`endpoints rotate ${id} --drop-old --json`)
  expect(dropped.records()).toMatchObject([{ secrets: 1 }])
  expect(dropped.stderr).toBe(`To see the new secret: tix-webhooks secret ${id}\n`)
  expect(await json('endpoints', 'remove', id)).toEqual([{ id, removed: true }])
  const stderr = 'There is no endpoint yet. Add one with: tix-webhooks endpoints add URL\n'
  expect(await run('endpoints')).toMatchObject({ code: 0, stdout: '', stderr })
})

test('faults are added, listed with what is left of them, and removed', async () => {
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

test('orders are listed, the newest first, with tickets and whether they were refunded', async () => {
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
  expect(await json('orders', '--refunded')).toMatchObject([{ id: refunded.id }])
  expect(await json('orders', '--event', paid.event_id)).toMatchObject([{ id: paid.id }])
  expect((await run('orders --limit 1')).stderr).toBe('1 more match: list more with --limit.\n')
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
