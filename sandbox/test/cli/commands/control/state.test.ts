import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { receiver } from '../../../support/cli-receiver.js'
import { type CliSandbox, sandbox } from '../../../support/cli-sandbox.js'
import { listening } from '../../../support/cli-server.js'

describe('status', () => {
  test('prints the URL, the clock, the counts and the assumptions', async () => {
    const { run, json, url } = await sandbox(
      '--start-at 2031-05-01T12:00:00Z --freeze --assume signature=body',
    )
    await json('trigger', 'order.created', '--no-wait')
    const { stdout } = await run('status')
    expect(stdout).toContain(`at ${url}\n`)
    expect(stdout).toContain('clock        2031-05-01T12:00:00.000Z, frozen, next: ')
    expect(stdout).toMatch(/^test {9}.*1 events/m)
    expect(stdout).toContain('signature=body')
    expect(await json('status')).toMatchObject([{ url, counts: { test: { orders: 1 } } }])
  })
})

describe('reset', () => {
  test('[N141] ends an advance that waits for a receiver without end', async () => {
    let asked = (): void => {}
    const isAsked = new Promise<void>((resolve) => {
      asked = resolve
    })
    const { url: to } = await listening(() => asked())
    const { json } = await sandbox(`--to ${to} --timeout 0 --freeze`)
    await json('trigger', 'order.created', '--no-wait')
    await isAsked
    const advances = [json('advance', '72h'), json('advance', '1h')]
    await json('reset')
    await Promise.all(advances)
    expect(await json('advance', '1h')).toMatchObject([{ ran: 0 }])
  })
})

describe('fill', () => {
  test('fills the sandbox from a file, and from the standard input', async () => {
    const { run, folder, json } = await sandbox()
    const [before] = (await json('status')) as { counts: { test: { venues: number } } }[]
    writeFileSync(join(folder, 'fixtures.json'), '{"venues":[{"name":"The Hall"}]}')
    expect(await run('fill fixtures.json')).toMatchObject({
      code: 0,
      stdout: 'Created 1 venue, 0 events, 0 orders.\n',
    })
    expect((await run('fill - --json', { stdin: '{"venues":[{"name":"The Barn"}]}' })).records()).toEqual([
      { venues: 1, events: 0, orders: 0 },
    ])
    expect(await json('status')).toMatchObject([
      { counts: { test: { venues: (before?.counts.test.venues ?? 0) + 2 } } },
    ])
  })
})

describe('openapi', () => {
  test('is that of the running sandbox', async () => {
    const { run, url } = await sandbox()
    const { code, stdout } = await run('openapi')
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ openapi: '3.1.0', servers: [{ url }] })
    expect(stdout).toContain('\n  "')
  })
})

describe('endpoints', () => {
  test.each(['endpoints', 'deliveries'])('are listed by %s list, too', async (name) => {
    const { run } = await sandbox('--to http://127.0.0.1:9')
    await run('trigger order.created')
    const { code, stdout, stderr } = await run(`${name} list`)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toContain('http://127.0.0.1:9')
    expect((await run(`${name} list --help`)).stdout).toContain(`Usage: tix-webhooks ${name} `)
    expect((await run(`help ${name} list`)).stdout).toContain(`Usage: tix-webhooks ${name} `)
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

interface Order {
  id: string
  event_id: string
  tickets: { id: string; scan_token: string }[]
}

/** Two orders, of which the second is refunded. */
async function withOrders(): Promise<CliSandbox & { paid: Order; refunded: Order }> {
  const running = await sandbox('--freeze')
  for (const kind of ['order.created', 'order.created']) await running.run(`trigger ${kind} --no-wait`)
  const [refunded, paid] = (await running.json('orders')) as unknown as [Order, Order]
  await fetch(`${running.url}/v2/events/${refunded.event_id}/cancel`, {
    method: 'POST',
    headers: { authorization: 'bearer sk_test_local' },
  })
  return { ...running, paid, refunded }
}

describe('orders', () => {
  test('are listed, the newest first, with tickets and whether they were refunded', async () => {
    const { run, paid, refunded } = await withOrders()
    const { code, stdout } = await run('orders')
    expect(code).toBe(0)
    const line = ({ id, event_id, tickets }: Order, state: string, buyer: number) =>
      `${id}  ${state}  5400  buyer${buyer}@example.com  ${event_id}  2 × general admission ${tickets.map((ticket) => ticket.id).join(' ')}`
    expect(stdout.replaceAll(/ {2,}/g, '  ')).toBe(
      [
        'ORDER  STATE  CENTS  BUYER  EVENT  TICKETS',
        line(refunded, 'refunded', 2),
        line(paid, 'paid', 1),
        '',
      ].join('\n'),
    )
  })

  test('are filtered by event and refund, and limited', async () => {
    const { run, json, paid, refunded } = await withOrders()
    const ids = async (...argv: string[]) => (await json('orders', ...argv)).map(({ id }) => id)
    expect(await ids()).toEqual([refunded.id, paid.id])
    expect(await ids('--refunded')).toEqual([refunded.id])
    expect(await ids('--paid')).toEqual([paid.id])
    expect(await ids('--event', paid.event_id)).toEqual([paid.id])
    expect(await ids('--limit', '1')).toEqual([refunded.id])
    expect((await run('orders --limit 1')).stderr).toBe('1 more match: list more with --limit.\n')
  })
})
