import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { listening, sandbox } from '../../../support/cli.js'

describe('status', () => {
  test('prints the URL, the clock, the counts and the assumptions', async () => {
    const {
      run: runHere,
      json,
      url,
    } = await sandbox('--start-at 2031-05-01T12:00:00Z --freeze --assume signature=body')
    await json('trigger', 'order.created', '--no-wait')
    const { stdout } = await runHere('status')
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
    const { run: runHere, folder, json } = await sandbox()
    const [before] = (await json('status')) as { counts: { test: { venues: number } } }[]
    writeFileSync(join(folder, 'fixtures.json'), '{"venues":[{"name":"The Hall"}]}')
    expect(await runHere('fill fixtures.json')).toMatchObject({
      code: 0,
      stdout: 'Created 1 venue, 0 events, 0 orders.\n',
    })
    expect((await runHere('fill - --json', { stdin: '{"venues":[{"name":"The Barn"}]}' })).records()).toEqual(
      [{ venues: 1, events: 0, orders: 0 }],
    )
    expect(await json('status')).toMatchObject([
      { counts: { test: { venues: (before?.counts.test.venues ?? 0) + 2 } } },
    ])
  })

  test.each([
    [['gone.json'], '', /^FILE: there is no such file: gone\.json/],
    [
      ['-'],
      '{"venues":',
      /^Standard input is not valid JSON: .+\. For an example: tix-webhooks fill --help$/m,
    ],
    [
      ['-'],
      '[]',
      /^Standard input must be a JSON object, such as \{"venues":\[\{"name":"The Boathouse"\}\]\}\.$/m,
    ],
    [
      ['-'],
      '{"venue":[]}',
      /^Fixtures must be an object with account, venues and events\. Unrecognized key: "venue"\.$/m,
    ],
    [['-'], '{"venues":[{"name":5}]}', /name/],
    [[], '', /^FILE is missing: a JSON file, or - for standard input/],
  ])('refuses %j', async (argv, stdin, message) => {
    const { run: runHere } = await sandbox()
    const { code, stderr } = await runHere(['fill', ...argv], { stdin })
    expect(code).toBe(2)
    expect(stderr).toMatch(message)
  })
})

describe('openapi', () => {
  test('is that of the running sandbox', async () => {
    const { run: runHere, url } = await sandbox()
    const { code, stdout } = await runHere('openapi')
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ openapi: '3.1.0', servers: [{ url }] })
    expect(stdout).toContain('\n  "')
  })
})
