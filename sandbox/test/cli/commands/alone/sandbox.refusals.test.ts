import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { verifySignature } from 'tix-webhooks'
import { describe, expect, test } from 'vitest'
import { emptyFolder, isEvent, receiver, run, sandbox } from '../../../support/cli.js'

describe('the sandbox', () => {
  test('refuses a state file that is none, and leaves it as it is', async () => {
    const folder = emptyFolder()
    writeFileSync(join(folder, 'notes.json'), '{"my":"notes"}')
    const { code, stderr } = await run('sandbox --port 0 --state notes.json', { cwd: folder })
    expect(code).toBe(2)
    expect(stderr).toContain('notes.json')
    expect(stderr).not.toContain('This is a fault')
    expect(readFileSync(join(folder, 'notes.json'), 'utf8')).toBe('{"my":"notes"}')
  })

  test('says what to do where a sandbox has its port', async () => {
    const { url } = await sandbox()
    expect(await run(['sandbox', '--port', new URL(url).port])).toMatchObject({
      code: 2,
      stderr: `A sandbox is already running at ${url}. To add your endpoint to it: tix-webhooks endpoints add URL. To run another one: --port 0\n`,
    })
  })

  test('changes nothing and sends nothing when its port is taken', async () => {
    const { url: to, arrivals } = await receiver(() => 500)
    const { port } = await receiver()
    const cwd = emptyFolder()
    const argv = ['--state', 'state.json', '--to', to, '--retry', '1s,2s,3s', '--secret']
    const first = await sandbox([...argv, 'whsec_first', '--freeze'], { cwd })
    await first.json('trigger', 'order.created', '--repeat', '3', '--no-wait')
    await first.json('advance', '0s')
    await first.json('advance', '1s')
    await first.json('clock', 'run')
    await first.session.stop()
    // Deliveries that wait are overdue when they are restored.
    const path = join(cwd, 'state.json')
    const state = JSON.parse(readFileSync(path, 'utf8'))
    state.saved_at = '2020-01-01T00:00:00.000Z'
    writeFileSync(path, JSON.stringify(state))
    const before = readFileSync(path, 'utf8')
    arrivals.length = 0

    const refused = await run(
      ['sandbox', '--port', String(port), ...argv, 'whsec_second', '--to', 'http://127.0.0.1:9'],
      { cwd },
    )
    expect(refused.code).toBe(2)
    expect(arrivals).toEqual([])
    expect(readFileSync(path, 'utf8')).toBe(before)
    expect(readdirSync(cwd)).toEqual(['state.json'])

    // It delivers as it would have, and signs by the given secret.
    const started = await sandbox([...argv, 'whsec_second'], { cwd })
    await started.session.count(isEvent('attempt'), 3)
    for (const { body, headers } of arrivals.slice(0, 3)) {
      await verifySignature(body, String(headers['x-service-signature']), { secret: 'whsec_second' })
    }
  })

  test.each([
    ['--assume signature=dots', /^The assumption signature is one of dot, concat, body, not "dots"/],
    ['--assume singature=dot', /^There is no assumption "singature"/],
    ['--assume signature', /^--assume "signature" must be name=value/],
    ['--retry sometimes', /^The retry schedule is default, quartic, fast/],
    ['--jitter 0.7', /^--jitter must be a number from 0 to 0\.5, such as 0\.1, not "0\.7"/],
    ['--timeout 2h', /^--timeout 2h is too long: at most 1h, or 0 for no limit/],
    ['--rate-limit 9999999/s', /^--rate-limit "9999999\/s" is not a rate: .* at most 1000000 requests/],
    [
      '--to http://localhost:3000/\nhooks',
      /^--to "http:\/\/localhost:3000\/\\nhooks" must have no line breaks/,
    ],
    ['--chaos duplicate=2', /^--chaos duplicate must be a number from 0 to 1/],
    ['--chaos stael=0.1', /^--chaos must be one of valid, .*Did you mean stale\?/],
    ['--start 2026-12-01T12:00:00Z', /^There is no option --start\. Did you mean --start-at\?/],
    ['--keys abc', /^keys must be a list of API keys/],
    ['--to localhost:3000', /Did you mean http:\/\/localhost:3000\?/],
    ['--to http://8.8.8.8/hooks', /--allow-public/],
    [
      '--to http://127.0.0.1:9 --events order.craeted',
      /^--events must be one of order\.created, .*Did you mean order\.created\?/,
    ],
    ['--host 0.0.0.0', /^--host 0\.0\.0\.0 lets other machines in: .*--allow-host NAME/],
    ['--rate-limit 25', /^--rate-limit "25" is not a rate: write it like 25\/s/],
    ['--rate-limit 0/s', /^--rate-limit "0\/s" is not a rate/],
    ['--timeout 15', /^--timeout 15 has no unit/],
    ['--seed -1', /^--seed needs a value/],
    ['--start-at today', /^--start-at "today" is not a valid time/],
  ])('refuses %s', async (argv, message) => {
    const { code, stdout, stderr } = await run(`sandbox --port 0 ${argv}`, { cwd: emptyFolder() })
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(message)
  })
})
