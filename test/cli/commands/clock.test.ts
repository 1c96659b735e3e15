import { describe, expect, test } from 'vitest'
import { receiver } from '../../support/cli-receiver.js'
import { sandbox } from '../../support/cli-sandbox.js'

const NOW = '2031-05-01T12:00:00.000Z'
const frozen = (...argv: string[]) => sandbox(['--now', NOW, '--freeze', ...argv])

describe('clock', () => {
  test('shows the time, to people and to programs', async () => {
    const { run, json } = await frozen()
    expect(await json('clock')).toEqual([
      { now: NOW, frozen: true, next_at: null, real_now: expect.any(String) },
    ])
    expect((await run(['clock'])).stdout).toBe(`${NOW}, frozen, nothing is due\n`)
  })

  test('runs and stops as it is told', async () => {
    const { json } = await frozen()
    expect(await json('clock', 'run')).toMatchObject([{ frozen: false }])
    expect(await json('clock', 'freeze')).toMatchObject([{ frozen: true }])
  })

  test('has no other actions', async () => {
    const { run } = await frozen()
    expect(await run(['clock', 'freze'])).toMatchObject({
      code: 2,
      stderr: 'There is no clock freze: there are freeze, run. Did you mean freeze?\n',
    })
  })
})

describe('advance', () => {
  test('does all retries of 72 hours, and tells how they went', async () => {
    const { url, arrivals } = await receiver((_, index) => (index < 9 ? 500 : 200))
    const { run } = await frozen('--to', url, '--jitter', '0')
    await run(['trigger', 'order.created', '--wait'])
    const { code, stdout } = await run(['advance', '72h'])
    expect(code).toBe(0)
    expect(stdout).toMatch(
      /^2031-05-04T12:00:00\.000Z, frozen, next in .+\n9 attempts: 1 delivered, 8 failed\n$/,
    )
    expect(arrivals).toHaveLength(10)
  })

  test('goes to what is due next, and to a moment', async () => {
    const { url } = await receiver(() => 500)
    const { run, json } = await frozen('--to', url, '--jitter', '0')
    await run(['trigger', 'order.created', '--wait'])
    expect(await json('advance', '--to', 'next')).toMatchObject([
      { from: NOW, now: '2031-05-01T12:00:05.000Z', attempts: { delivered: 0, failed: 1 } },
    ])
    expect(await json('advance', '--to', '2031-05-01T15:00+02:00')).toMatchObject([
      { now: '2031-05-01T13:00:00.000Z' },
    ])
  })

  test('shows its progress on a terminal, and takes it away', async () => {
    const { run } = await frozen()
    const { stderr } = await run(['advance', '1h', '--no-color'], { isTTY: true })
    expect(stderr).toBe('Advancing 1h…\r\u001b[2K')
  })

  test.each([
    [[], /^Say how far: a time such as 72h/],
    [['1h', '--to', 'next'], /^Say how far/],
    [['72'], /^TIME 72 has no unit: write 72s, 72m, 72h or 72d/],
    [['soon'], /^TIME must be a span of time/],
    [['--to', 'later'], /^--to "later" is no instant/],
    [['--to', '2031-05-01T11:00:00Z'], /forward|past/],
    [['1h', '2h'], /^advance takes no more than TIME, so what is "2h"\?/],
  ])('refuses %j', async (argv, message) => {
    const { run } = await frozen()
    const { code, stdout, stderr } = await run(['advance', ...argv])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(message)
  })
})
