import { tixWebhooks } from 'tix-webhooks/node'
import { describe, expect, test } from 'vitest'
import { snippetsOf } from '../../../../../test/support/compile.js'
import { SECRET } from '../../../../../test/support/deliveries.js'
import { freePort } from '../../../../../test/support/free-port.js'
import { inMemory, legacyReceiver } from '../../../../../test/support/legacy-receiver.js'
import { byHand, LAST_TIME_WINS } from '../../../support/checked-receivers.js'
import { listening, receiver, run, type Surroundings } from '../../../support/cli.js'

const secret = 'whsec_check_0123456789'
const good = () =>
  tixWebhooks({ secret, on: { 'order.created': () => {}, 'event.*': () => {} }, onError: () => {} })
const check = (url: string, argv = '', surroundings: Surroundings = {}) =>
  run(`check ${url} --secret ${secret} ${argv}`.trim(), surroundings)

describe('check', () => {
  test('passes a receiver that does all right', async () => {
    const { url } = await listening(good())
    const { code, stdout, stderr } = await check(url)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(/^ok {4}valid +200\n/m)
    expect(stdout).toMatch(/^ok {4}stale +401$/m)
    expect(stdout).not.toContain('FAIL')
    const [, passed, all] = /^(\d+) of (\d+) probes passed\n$/m.exec(stdout) ?? []
    expect(passed).toBe(all)
    expect(Number(all)).toBeGreaterThan(20)
  })

  test('tells what loses events from statuses that differ, and only fails for the former', async () => {
    const { url } = await listening(legacyReceiver({ secret, ...inMemory() }))
    const { code, records } = await check(url, '--json')
    const faults = records().flatMap(({ name, consequence }) => (consequence ? [[name, consequence]] : []))
    expect(faults).toEqual([
      ['large', 'loses_events'],
      ['two-v1', 'loses_events'],
      ['malformed-header', 'accepts_replays'],
      ['not-an-envelope', 'loses_events'],
      ['unknown-kind', 'retries_in_vain'],
      ['retried-failure', 'loses_events'],
    ])
    expect([code, records().at(-1)]).toEqual([1, { passed: 22, failed: 6, warned: 0, harmless: 0 }])

    const { stdout } = await check(url)
    const lines = stdout.split('\n').filter((line) => /^FAIL|probes passed$/.test(line))
    expect(snippetsOf('docs/moving.md', 'text')).toEqual([`${lines.join('\n')}\n`])

    const parsesFirst = byHand({ first: (body) => void JSON.parse(body.toString()) })
    const only = ['--secret', SECRET, '--only', 'empty-body,stale']
    const differing = await run(['check', (await listening(parsesFirst)).url, ...only])
    expect(differing.stdout).toMatch(
      /^diff {2}empty-body +500; expected: each answered 4xx: harmless\n {6}It answers 5xx/m,
    )
    expect(differing.stdout).toMatch(/^1 of 2 probes passed, 1 differs without harm$/m)
    expect(differing.code).toBe(0)
  })

  describe('shows what was answered wrongly', () => {
    const dropsMark = byHand({
      signedContent: (t, body) => `${t}.${new TextDecoder().decode(body)}`,
      readJson: (body) => JSON.parse(new TextDecoder().decode(body)),
    })
    const argv = ['--secret', SECRET, '--only', 'tampered-byte,stale']

    test('below the probe: which delivery of several, its header and its body, short and with no byte invisible', async () => {
      const { url } = await listening(dropsMark)
      const { stdout } = await run(['check', url, ...argv], {
        isTTY: true,
        columns: 80,
        env: { NO_COLOR: '1' },
      })
      const [title, header, body, next] = stdout
        .split('\n')
        .slice(stdout.split('\n').findIndex((line) => /^ +delivery/.test(line)))
      expect(title).toBe('      delivery 4 of 4, answered 200')
      expect(header).toMatch(/^ {8}header {2}t=\d+,v1=[0-9a-f]+…[0-9a-f]+ \(80 bytes\)$/)
      expect(body).toMatch(/^ {8}body {4}<ef bb bf>\{"type":"order\.created",.*….*\} \(\d+ bytes\)$/)
      expect(next).toMatch(/^ok {4}stale/)
      expect(stdout).not.toContain(SECRET)
    })

    test('whole in JSON, as it was sent', async () => {
      const { url } = await listening(dropsMark)
      const { stdout, records } = await run(['check', url, ...argv, '--json'])
      const [tampered, stale] = records()
      expect(tampered).toMatchObject({
        name: 'tampered-byte',
        wrong: [
          {
            number: 4,
            of: 4,
            header: expect.stringMatching(/^t=\d+,v1=[0-9a-f]{64}$/),
            body: expect.stringMatching(/^\ufeff\{"type":"order\.created",.*\}$/),
            answer: '200',
          },
        ],
      })
      expect(stale).not.toHaveProperty('wrong')
      expect(stdout).not.toContain(SECRET)
    })
  })

  test('warns of a second t over which the signature is right, and does not fail', async () => {
    const { url } = await listening(byHand(LAST_TIME_WINS))
    const argv = ['check', url, '--secret', SECRET, '--only', 'malformed-header,stale']
    const { code, stdout } = await run(argv)
    expect(stdout).toMatch(
      /^warn {2}malformed-header +400, 200, 401; expected: each answered 4xx: lenient, .*\n {6}It accepts a header with two t\./m,
    )
    expect(stdout).toMatch(/^1 of 2 probes passed, 1 warning$/m)
    expect(code).toBe(0)
    const { records } = await run([...argv, '--json'])
    expect(records()).toMatchObject([
      { name: 'malformed-header', passed: false, consequence: 'lenient' },
      { name: 'stale', passed: true },
      { passed: 1, failed: 0, warned: 1, harmless: 0 },
    ])
  })

  test('says what the answers of a passed probe do not show, with the order to look for', async () => {
    const { url } = await receiver(({ headers }) => (headers['x-service-signature'] ? 200 : 400))
    const { code, stdout } = await check(url, '--only duplicate,missing-header')
    expect(code).toBe(0)
    expect(stdout).toMatch(
      /^ok {4}duplicate +200\n {6}Answers do not show how often your handler ran\. Check that it handled ord_\w+ once\.$/m,
    )
    const { records } = await check(url, '--only duplicate,missing-header --json')
    expect(records()).toMatchObject([
      { name: 'missing-header', passed: true },
      { name: 'duplicate', passed: true, note: expect.stringMatching(/^Answers do not show/) },
      { passed: 2, failed: 0, warned: 0, harmless: 0 },
    ])
  })

  test('stops at a receiver that has another secret, and shows the end of ours alone', async () => {
    const { url } = await listening(good())
    const { code, stdout } = await run(`check ${url} --secret whsec_another_9876`)
    expect(code).toBe(1)
    expect(stdout).toMatch(
      /^FAIL {2}valid +401; expected: each answered 2xx\n {6}It refuses a genuine delivery/m,
    )
    expect(stdout).toContain('9876')
    expect(stdout).not.toContain('whsec_another')
    expect(stdout).toMatch(/^0 of 1 probes passed$/m)
  })

  test('waits for a receiver that is still starting', async () => {
    const port = await freePort()
    let isWaiting = (): void => {}
    const waiting = new Promise<void>((resolve) => {
      isWaiting = resolve
    })
    const checked = run(`check http://127.0.0.1:${port}/hooks --secret ${secret} --only stale --wait 60s`, {
      isTTY: true,
      onOutput: ({ stderr }) => stderr.includes('Waiting for') && isWaiting(),
    })
    await waiting
    await listening(good(), port)
    expect(await checked).toMatchObject({ code: 0, stdout: expect.stringContaining('1 of 1 probes passed') })
  })

  test('waits no longer than the given time, and names the URL where nothing listens', async () => {
    const port = await freePort()
    expect(await check(`http://127.0.0.1:${port}/hooks`, '--wait 50ms')).toMatchObject({
      code: 1,
      stdout: '',
      stderr: `Nothing listens on 127.0.0.1:${port} after 50 ms: did your receiver start, and is that its port?\n`,
    })
  })

  test('signs by the given options', async () => {
    const hook = tixWebhooks({
      secret,
      signature: { signedContent: 'concat' },
      on: { 'order.created': () => {} },
      onError: () => {},
    })
    const { url } = await listening(hook)
    expect((await check(url, '--only valid')).code).toBe(1)
    expect((await check(url, '--only valid --signature concat')).code).toBe(0)
  })

  test('does not keep Ctrl-C waiting for a receiver that hangs', async () => {
    const stopped = new AbortController()
    const { url } = await listening(() => stopped.abort())
    expect((await run(`check ${url} --secret ${secret} --timeout 0`, { signal: stopped.signal })).code).toBe(
      130,
    )
  })

  test('shows its progress on a terminal', async () => {
    const { url } = await listening(good())
    const { stderr } = await run(`check ${url} --secret ${secret} --only stale --no-color`, {
      isTTY: true,
    })
    expect(stderr).toContain(`Probing ${url}…\r\u001b[2K`)
  })

  test.each([
    ['', /^URL is missing/],
    ['localhost:3000', /Did you mean http:\/\/localhost:3000\?/],
    ['http://127.0.0.1:9 --only stael', /Did you mean stale\?/],
    ['http://127.0.0.1:9 --kind order.refunded', /give the data of "order\.refunded" with --data/],
    ['http://127.0.0.1:9 --kind order.created --only thin', /^The scenario thin needs an event\.\*/],
    ['http://127.0.0.1:9 --tolerance 0', /tolerance/],
  ])('refuses "check %s"', async (argv, message) => {
    const { code, stdout, stderr } = await run(`check ${argv}`.trim(), {
      env: { TIX_SIGNING_SECRET: secret },
    })
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(message)
  })
})
