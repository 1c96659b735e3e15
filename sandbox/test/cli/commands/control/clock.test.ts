import { describe, expect, test } from 'vitest'
import { listening, receiver, sandbox } from '../../../support/cli.js'

const NOW = '2031-05-01T12:00:00.000Z'
const frozen = (...argv: string[]) => sandbox(['--start-at', NOW, '--freeze', ...argv])

describe('clock', () => {
  test('shows the time, to people and to programs', async () => {
    const { run, json } = await frozen()
    expect(await json('clock')).toEqual([
      { now: NOW, frozen: true, next_at: null, next_what: null, real_now: expect.any(String) },
    ])
    expect((await run('clock')).stdout).toBe(`${NOW}, frozen, nothing is due\n`)
  })
})

describe('advance', () => {
  test('makes all retries of 72 hours, and logs their results', async () => {
    const { url, arrivals } = await receiver((_, index) => (index < 9 ? 500 : 200))
    const { run } = await frozen('--to', url, '--jitter', '0')
    await run('trigger order.created --wait')
    const { code, stdout } = await run('advance 72h')
    expect(code).toBe(0)
    expect(stdout).toMatch(
      /^2031-05-04T12:00:00\.000Z, frozen, next: Harbour Jazz ends in 27 d .+\n1 delivered\n$/,
    )
    expect(arrivals).toHaveLength(10)
  })

  test('ends with the deliveries, and what to do about those that were given up', async () => {
    const { url } = await receiver(({ body }) => (String(body).includes('order.created') ? 500 : 200))
    const { run, json } = await frozen('--to', url, '--retry', '5s,1m')
    await run('trigger order.created --repeat 2')
    expect((await run('clock')).stdout).toMatch(/next: attempt 2 of order\.created \[dlv_\w+\] in \d+ s\n$/)
    expect((await run('advance 10s')).stdout).toMatch(/\n2 retrying\n$/)
    expect(await json('advance', '1h')).toMatchObject([
      { deliveries: { delivered: 0, given_up: 2, retrying: 0, given_up_after: [3, 3] } },
    ])
    await run('trigger order.created')
    expect((await run('advance 1h')).stdout).toMatch(
      /\n1 given up after 3 attempts\nTo list them: tix-webhooks deliveries --status failed\n$/,
    )
    expect((await run('advance 1h')).stdout).toMatch(/\nNo delivery was due\.\n$/)
  })

  test('counts the attempts while it advances, for other clients', async () => {
    let answer = (): void => {}
    const held = new Promise<void>((resolve) => {
      answer = resolve
    })
    const { url } = await receiver((_, index) => (index === 0 ? 500 : 200))
    const slow = await listening(async (request, response) => {
      request.resume()
      if (slowCalls++ > 0) await held
      response.writeHead(500).end()
    })
    let slowCalls = 0
    const { run, json } = await frozen('--to', url, '--to', slow.url, '--jitter', '0')
    await run('trigger order.created')
    const advanced = json('advance', '10s')
    await expect.poll(async () => (await json('clock'))[0]?.advancing).toEqual({ delivered: 1, failed: 0 })
    answer()
    await advanced
    expect((await json('clock'))[0]).not.toHaveProperty('advancing')
  })

  test('goes to what is due next, and to a moment', async () => {
    const { url } = await receiver(() => 500)
    const { run, json } = await frozen('--to', url, '--jitter', '0')
    await run('trigger order.created --wait')
    expect(await json('advance', '--to', 'next')).toMatchObject([
      { from: NOW, now: '2031-05-01T12:00:05.000Z', attempts: { delivered: 0, failed: 1 } },
    ])
    expect(await json('advance', '--to', '2031-05-01T15:00+02:00')).toMatchObject([
      { now: '2031-05-01T13:00:00.000Z' },
    ])
  })

  test('shows its progress on a terminal, and takes it away', async () => {
    const { run } = await frozen()
    const { stderr } = await run('advance 1h --no-color', { isTTY: true })
    expect(stderr).toBe('Advancing 1h…\r\u001b[2K')
  })

  test.each([
    [[], /^How far\? Give a time such as 72h/],
    [['1h', '--to', 'next'], /^How far/],
    [['72'], /^TIME 72 has no unit: write 72s, 72m, 72h or 72d/],
    [['soon'], /^TIME must be a span of time/],
    [['--to', 'later'], /^--to "later" is not a valid time/],
    [['--to', '2031-05-01T11:00:00Z'], /forward|past/],
    [['1h', '2h'], /^advance takes only TIME, not "2h" too\./],
  ])('refuses %j', async (argv, message) => {
    const { run } = await frozen()
    const { code, stdout, stderr } = await run(['advance', ...argv])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(message)
  })
})
