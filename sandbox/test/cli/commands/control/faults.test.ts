import { describe, expect, test } from 'vitest'
import { sandbox } from '../../../support/cli.js'

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

  test.each([
    [['add', '/v2'], /does nothing/],
    [['add', '/events', '--drop'], /beginning of a path of the API/],
    [['add', '/v2', '--drop', '--status', '500'], /not both/],
    [['add', '/v2', '--status', '200'], /--status must be a whole number from 400 to 599/],
    [['add', '/v2', '--status', '418'], /status must be 400, 401/],
    [['add', '/v2', '--delay', '11m'], /at most ten minutes/],
    [['remove'], /Which fault\?/],
    [['remove', 'flt_x', '--all'], /Which fault\?/],
    [['remove', 'flt_x'], /There is no fault "flt_x"/],
  ])('%j is refused', async (argv, message) => {
    const { run } = await sandbox()
    const { code, stderr } = await run(['faults', ...argv])
    expect(code).toBe(2)
    expect(stderr).toMatch(message)
  })
})
