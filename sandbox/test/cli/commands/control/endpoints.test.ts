import { describe, expect, test } from 'vitest'
import { receiver, sandbox } from '../../../support/cli.js'

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

  test.each([
    [['add', '3000'], /^URL "3000" is not an http or https URL\. Did you mean http:\/\/localhost:3000\?/],
    [
      ['add', ':3000/hooks'],
      /^URL ":3000\/hooks" is not an http or https URL\. Did you mean http:\/\/localhost:3000\/hooks\?/,
    ],
    [['add', 'http://127.0.0.1:9', '--events', 'event.craeted'], /Did you mean order\.created\?/],
    [['add'], /^URL is missing: URL of the receiver, quoted for the shell/],
    [
      ['add', 'localhost:3000/hooks'],
      /^URL "localhost:3000\/hooks" is not an http or https URL\. Did you mean http:\/\//,
    ],
    [['add', 'http://127.0.0.1:9', 'b=2'], /^endpoints add takes only URL, not "b=2" too\. Quote/],
    [['add', 'http://127.0.0.1:9', '--events', 'order.craeted'], /Did you mean order\.created\?/],
    [['add', 'http://8.8.8.8/hooks'], /--allow-public/],
    [['add', 'http://127.0.0.1:9', '--secret', ' x'], /white space|secret/],
    [['remove', 'we_x'], /^There is no endpoint "we_x"/],
    [['rotate'], /^ENDPOINT is missing/],
    [
      ['adn', 'http://127.0.0.1:9'],
      /^There is no command endpoints adn, only endpoints add, endpoints remove, .*Did you mean add\?/,
    ],
  ])('refuse %j', async (argv, message) => {
    const { run } = await sandbox()
    const { code, stdout, stderr } = await run(['endpoints', ...argv])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(message)
  })
})
