import { describe, expect, test } from 'vitest'
import { run } from '../../support/cli.js'
import { sandbox } from '../../support/cli-sandbox.js'

const to = (path: string): string[] => ['--to', `http://127.0.0.1:9/${path}`]

describe('secret', () => {
  test('is a line for .env, where all endpoints share one', async () => {
    const { run: runHere } = await sandbox([...to('a'), ...to('b'), '--secret', 'whsec_one'])
    expect(await runHere(['secret'])).toMatchObject({
      code: 0,
      stdout: 'TIX_SIGNING_SECRET=whsec_one\n',
      stderr: '',
    })
  })

  test('is said with its endpoint, where there are several; and of one alone', async () => {
    const { run: runHere, json } = await sandbox([...to('a'), '--secret', 'whsec_one'])
    const [added] = await json('endpoints', 'add', 'http://127.0.0.1:9/b', '--secret', "it's $5")
    const { stdout } = await runHere(['secret'])
    expect(stdout.replaceAll(/we_\w+/g, 'we_')).toBe(
      [
        '# we_ http://127.0.0.1:9/a',
        'TIX_SIGNING_SECRET=whsec_one',
        '# we_ http://127.0.0.1:9/b',
        "TIX_SIGNING_SECRET='it'\\''s $5'",
        '',
      ].join('\n'),
    )
    expect(await json('secret', String(added?.id))).toEqual([
      { secret: "it's $5", endpoints: [{ id: added?.id, url: 'http://127.0.0.1:9/b' }] },
    ])
  })

  test('is that which is new, during a rotation', async () => {
    const { run: runHere, json } = await sandbox([...to('a'), '--secret', 'whsec_old'])
    const [{ id } = {}] = await json('endpoints')
    await json('endpoints', 'rotate', String(id), '--secret', 'whsec_new')
    expect((await runHere(['secret'])).stdout).toBe('TIX_SIGNING_SECRET=whsec_new\n')
  })

  test('that is new needs no sandbox, and is another one each time', async () => {
    const [one, other] = [await run(['secret', '--new']), await run(['secret', '--new'])]
    expect(one.stdout).toMatch(/^TIX_SIGNING_SECRET=whsec_[\w-]{32}\n$/)
    expect(one.stdout).not.toBe(other.stdout)
    expect(one.code).toBe(0)
  })

  test.each([
    [['--new', 'we_x'], 2, /^--new is of no endpoint: tix-webhooks endpoints rotate we_x/],
    [['we_x'], 2, /^There is no endpoint "we_x"/],
    [[], 1, /^The sandbox has no endpoint yet\. Add one with: tix-webhooks endpoints add URL/],
  ])('refuses %j', async (argv, code, message) => {
    const { run: runHere } = await sandbox()
    const ran = await runHere(['secret', ...argv])
    expect(ran).toMatchObject({ code, stdout: '' })
    expect(ran.stderr).toMatch(message)
  })
})
