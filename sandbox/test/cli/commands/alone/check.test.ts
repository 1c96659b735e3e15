import { tixWebhooks } from 'tix-webhooks/node'
import { expect, test } from 'vitest'
import { snippetsOf } from '../../../../../test/support/compile.js'
import { SECRET } from '../../../../../test/support/deliveries.js'
import { freePort } from '../../../../../test/support/free-port.js'
import { inMemory, legacyReceiver } from '../../../../../test/support/legacy-receiver.js'
import { HONEST, type Steps } from '../../../../../test/support/own-receiver.js'
import { listening, run, type Surroundings } from '../../../support/cli.js'
import { byHand } from '../../../support/receiver-by-hand.js'

const SILENT = { onUnhandled: () => {}, onError: () => {} }
const good = () =>
  tixWebhooks({ secret: SECRET, on: { 'order.created': () => {}, 'event.*': () => {} }, ...SILENT })
const check = (url: string, argv = '', surroundings: Surroundings = {}) =>
  run(`check ${url} --secret ${SECRET} ${argv}`.trim(), surroundings)

test('a receiver that does all right passes all probes', async () => {
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

test('the faults of a receiver are those in the documentation, with their consequences', async () => {
  const { url } = await listening(legacyReceiver({ secret: SECRET, ...inMemory() }))
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
})

/** Takes the last `t` of several, as a receiver does that makes a map of the header. */
const LAST_TIME_WINS: Partial<Steps> = {
  readHeader: (header = '') => {
    const items = header.split(',')
    const isTime = (item: string): boolean => item.startsWith('t=')
    const others = items.filter((item) => !isTime(item))
    return HONEST.readHeader([...items.filter(isTime).slice(-1), ...others].join(','))
  },
}

test.each([
  [
    'a status that differs without harm',
    byHand({ first: (body) => void JSON.parse(body.toString()) }),
    'empty-body',
    /^diff {2}empty-body +500; expected: each answered 4xx: harmless\n {6}It answers 5xx[\s\S]+\n1 of 2 probes passed, 1 differs without harm$/m,
  ],
  [
    'a second t over which the signature is right',
    byHand(LAST_TIME_WINS),
    'malformed-header',
    /^warn {2}malformed-header +400, 200, 401; expected: each answered 4xx: lenient, .*\n {6}It accepts a header with two t\.[\s\S]+\n1 of 2 probes passed, 1 warning$/m,
  ],
])('%s is reported, and is no failure', async (_, listener, probe, says) => {
  const { code, stdout } = await check((await listening(listener)).url, `--only ${probe},stale`)
  expect(stdout).toMatch(says)
  expect(code).toBe(0)
})

test('a delivery that was answered wrongly is shown short and with no byte invisible, and whole in JSON', async () => {
  const dropsMark = byHand({
    signedContent: (t, body) => `${t}.${new TextDecoder().decode(body)}`,
    readJson: (body) => JSON.parse(new TextDecoder().decode(body)),
  })
  const { url } = await listening(dropsMark)
  const only = '--only tampered-byte,stale'
  const { stdout } = await check(url, only, { isTTY: true, columns: 80, env: { NO_COLOR: '1' } })
  expect(stdout).toMatch(
    /^ {6}delivery 4 of 4, answered 200\n {8}header {2}t=\d+,v1=[0-9a-f]+…[0-9a-f]+ \(80 bytes\)\n {8}body {4}<ef bb bf>\{"type":"order\.created",.*….*\} \(\d+ bytes\)\nok {4}stale/m,
  )
  const json = await check(url, `${only} --json`)
  const [tampered, stale] = json.records()
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
  expect(stdout + json.stdout).not.toContain(SECRET)
})

test('a receiver that is still starting is waited for, and the progress is shown', async () => {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}/hooks`
  let isStarted = false
  const { code, stdout, stderr } = await check(url, '--only stale --wait 60s', {
    isTTY: true,
    onOutput: (said) => {
      if (isStarted || !said.stderr.includes('Waiting for')) return
      isStarted = true
      void listening(good(), port)
    },
  })
  expect(code).toBe(0)
  expect(stdout).toContain('1 of 1 probes passed')
  expect(stderr).toContain(`Probing ${url}…`)
})

test('a receiver is waited for no longer than the given time, and the URL where nothing listens is named', async () => {
  const port = await freePort()
  expect(await check(`http://127.0.0.1:${port}/hooks`, '--wait 50ms')).toMatchObject({
    code: 1,
    stdout: '',
    stderr: `Nothing listens on 127.0.0.1:${port} after 50 ms: did your receiver start, and is that its port?\n`,
  })
})

test('deliveries are signed by the given options', async () => {
  const signature = { signedContent: 'concat' } as const
  const hook = tixWebhooks({ secret: SECRET, signature, on: { 'order.created': () => {} }, ...SILENT })
  const { url } = await listening(hook)
  expect((await check(url, '--only valid')).code).toBe(1)
  expect((await check(url, '--only valid --signature concat')).code).toBe(0)
})

test('Ctrl-C is not kept waiting for a receiver that hangs', async () => {
  const stopped = new AbortController()
  const { url } = await listening(() => stopped.abort())
  expect((await check(url, '--timeout 0', { signal: stopped.signal })).code).toBe(130)
})
