import { Agent, request as httpRequest } from 'node:http'
import { answerTo } from 'tix-webhooks'
import { signedBody, signedDelivery } from 'tix-webhooks/testing'
import { describe, expect, test } from 'vitest'
import { freePort } from '../../../../../test/support/free-port.js'
import { run } from '../../../support/cli.js'
import { receiver } from '../../../support/cli-receiver.js'
import { begin, isEvent, type Session } from '../../../support/cli-session.js'

const secret = 'whsec_listen'

/** In a folder and with an address where no sandbox is. */
const alone = async (argv: readonly string[]): Promise<Session> => begin(['listen', ...argv])

const urlOf = async (session: Session): Promise<string> =>
  String((await session.record(isEvent('listening'))).url)

describe('listen', () => {
  test('prints what comes, verifies it and answers 200', async () => {
    const session = await alone(['--secret', secret])
    const delivery = await signedDelivery('order.created', { secret })
    const { status } = await fetch(await urlOf(session), delivery)
    expect(status).toBe(200)
    expect(session.records().slice(1)).toEqual([
      {
        event: 'received',
        method: 'POST',
        path: '/',
        kind: 'order.created',
        attempt: 1,
        verdict: 'verified',
        signature_age_seconds: expect.any(Number),
        body: delivery.body,
      },
      { event: 'answered', status: 200, attempt: 1, duration_ms: expect.any(Number) },
    ])
  })

  test('answers 401 to what is not signed with the secret, and says why', async () => {
    const session = await alone(['--secret', secret, '--respond', '204'])
    const url = await urlOf(session)
    const forged = await signedDelivery('order.created', { secret: 'whsec_other' })
    const stale = await signedDelivery('order.created', { secret, timestamp: 1_700_000_000 })
    expect((await fetch(url, forged)).status).toBe(401)
    expect((await fetch(url, stale)).status).toBe(401)
    expect((await fetch(url, { method: 'POST', body: '{}' })).status).toBe(401)
    expect(
      session
        .records()
        .filter(isEvent('received'))
        .map(({ code }) => code),
    ).toEqual(['signature_mismatch', 'timestamp_too_old', 'header_missing'])
  })

  test('accepts an older signature with a longer tolerance', async () => {
    const session = await alone(['--secret', secret, '--tolerance', '2h'])
    const delivery = await signedDelivery('order.created', { secret, now: () => Date.now() - 3_600_000 })
    expect((await fetch(await urlOf(session), delivery)).status).toBe(200)
  })

  test('verifies nothing without a secret, and says so', async () => {
    const session = await alone([])
    const url = await urlOf(session)
    expect((await fetch(url, { method: 'POST', body: 'no JSON' })).status).toBe(200)
    expect(session.records()).toContainEqual(
      expect.objectContaining({ verdict: 'unchecked', body: 'no JSON' }),
    )
    expect(session.said.stderr).toContain(
      'Signatures are not verified: give --secret, or set TIX_SIGNING_SECRET.',
    )
  })

  test('answers each event with the given statuses in turn, then with the last one', async () => {
    const session = await alone(['--secret', secret, '--respond', '500,503,200'])
    const url = await urlOf(session)
    const [first, second] = [
      await signedDelivery('order.created', { secret }),
      await signedDelivery('order.created', { secret }),
    ]
    const statuses: number[] = []
    for (const delivery of [first, second, first, first, await first.signAgain({}), second]) {
      statuses.push((await fetch(url, delivery)).status)
    }
    expect(statuses).toEqual([500, 500, 503, 200, 200, 503])
  })

  test('waits before it answers, with a delay', async () => {
    const session = await alone(['--delay', '60ms'])
    await fetch(await urlOf(session), { method: 'POST', body: 'x' })
    const answered = await session.record(isEvent('answered'))
    expect(answered.duration_ms).toBeGreaterThanOrEqual(55)
  })

  test('does not keep Ctrl-C waiting for a delayed answer', async () => {
    const session = await alone(['--delay', '1h'])
    const pending = fetch(await urlOf(session), { method: 'POST', body: 'x' }).catch(() => 'cut off')
    await session.record(isEvent('received'))
    expect((await session.stop()).code).toBe(0)
    expect(await pending).toBe('cut off')
  })

  test('passes the very bytes and headers on, and gives the answer back', async () => {
    const { url: target, arrivals } = await receiver(() => ({
      status: 418,
      headers: { 'x-answer': 'yes', 'content-type': 'text/plain' },
      body: Uint8Array.from([0xff, 0x00, 0x0a]),
    }))
    const session = await alone(['--secret', secret, '--forward-to', target])
    const body = Uint8Array.from([0xef, 0xbb, 0xbf, 0x7b, 0x7d, 0xff, 0x0d, 0x0a])
    const { headers } = await signedBody(body, { secret })
    const answer = await fetch(await urlOf(session), {
      method: 'POST',
      body,
      headers: { ...headers, 'X-Custom-Thing': 'a, b', 'content-type': 'application/JSON; charset=utf-8' },
    })
    expect(answer.status).toBe(418)
    expect(answer.headers.get('x-answer')).toBe('yes')
    expect(new Uint8Array(await answer.arrayBuffer())).toEqual(Uint8Array.from([0xff, 0x00, 0x0a]))
    expect(arrivals).toHaveLength(1)
    expect(new Uint8Array(arrivals[0]?.body ?? [])).toEqual(body)
    expect(arrivals[0]).toMatchObject({
      method: 'POST',
      path: '/hooks?a=1&b=2',
      headers: {
        ...headers,
        'x-custom-thing': 'a, b',
        'content-type': 'application/JSON; charset=utf-8',
        host: new URL(target).host,
        'content-length': '8',
      },
    })
  })

  test('passes headers on that come twice, and leaves out those of the connection', async () => {
    const { url: target, arrivals } = await receiver()
    const session = await alone(['--forward-to', target])
    await post(await urlOf(session), { 'x-twice': ['a', 'b'], te: 'trailers', 'keep-alive': 'timeout=5' })
    const { headers, rawHeaders } = arrivals[0] ?? {}
    expect(rawHeaders?.filter((_, index, all) => all[index - 1]?.toLowerCase() === 'x-twice')).toEqual([
      'a',
      'b',
    ])
    expect(headers).not.toHaveProperty('te')
    expect(headers).not.toHaveProperty('keep-alive')
  })

  test('passes a wrong signature on too: the receiver decides', async () => {
    const { url: target } = await receiver(() => 202)
    const session = await alone(['--secret', secret, '--forward-to', target])
    expect((await fetch(await urlOf(session), { method: 'POST', body: 'x' })).status).toBe(202)
    expect(session.records()).toContainEqual(expect.objectContaining({ verdict: 'refused' }))
  })

  test('answers 502 where nothing listens, and says what to do', async () => {
    const port = await freePort()
    const session = await alone(['--forward-to', `http://127.0.0.1:${port}/hooks`])
    const answer = await fetch(await urlOf(session), { method: 'POST', body: 'x' })
    expect(answer.status).toBe(502)
    expect(await session.record(isEvent('answered'))).toMatchObject({
      error: { code: 'ECONNREFUSED', message: expect.stringContaining('is your receiver running?') },
    })
  })

  test.each(['127.0.0.1', 'localhost', '0.0.0.0', '[::ffff:127.0.0.1]', '2130706433'])(
    'refuses to pass on to itself, by the name %s',
    async (host) => {
      const port = String(await freePort())
      const { code, stderr } = await run([
        'listen',
        '--port',
        port,
        '--forward-to',
        `http://${host}:${port}/hooks`,
      ])
      expect(code).toBe(2)
      expect(stderr).toContain(`--forward-to http://${host}:${port}/hooks is this listener itself: `)
    },
  )

  test('passes on no request that it has passed on before', async () => {
    const port = await freePort()
    const [here, there] = [`http://127.0.0.1:${port}/`, `http://127.0.0.1:${await freePort()}/`]
    const one = await alone(['--port', String(port), '--forward-to', there])
    const other = await alone(['--port', new URL(there).port, '--forward-to', here])
    await Promise.all([urlOf(one), urlOf(other)])
    const answer = await fetch(here, { method: 'POST', body: 'x', headers: { via: '1.1 somebody' } })
    expect(answer.status).toBe(508)
    expect(await answer.json()).toMatchObject({ error: { code: 'loop' } })
    expect(one.records().filter(isEvent('received'))).toHaveLength(2)
    expect(other.records().filter(isEvent('received'))).toHaveLength(1)
  })

  test('refuses a body of more than 16 MiB', { tags: ['slow'] }, async () => {
    const session = await alone([])
    const url = await urlOf(session)
    const send = (size: number) => fetch(url, { method: 'POST', body: new Uint8Array(size) })
    expect((await send(16 * 1024 * 1024 + 1)).status).toBe(413)
    expect((await send(16 * 1024 * 1024)).status).toBe(200)
    expect(session.records().filter(isEvent('received'))).toHaveLength(1)
  })

  test('ends with 0 on Ctrl-C, and its port is free', async () => {
    const port = await freePort()
    for (const _time of ['first', 'second']) {
      const session = await alone(['--port', String(port)])
      await urlOf(session)
      expect(await session.stop()).toMatchObject({ code: 0 })
    }
  })

  test.each([
    [
      ['--forward-to', 'http://127.0.0.1:1', '--respond', '500'],
      /^--forward-to returns the answer of your receiver/,
    ],
    [
      ['--forward-to', 'http://127.0.0.1:1', '--delay', '1s'],
      /^--forward-to returns the answer of your receiver/,
    ],
    [['--respond', '200,99'], /^--respond must be a whole number from 200 to 599, not "99"/],
    [['--respond', '200,'], /^--respond "200," has an empty element/],
    [['--tolerance', '0'], /^--tolerance must be more than 0/],
    [['--delay', '2'], /^--delay 2 has no unit/],
  ])('refuses %j', async (argv, message) => {
    const { code, stderr } = await run(['listen', ...argv])
    expect(code).toBe(2)
    expect(stderr).toMatch(message)
  })

  test('says of an event that its receiver parks that it is not handled', async () => {
    const { url } = await receiver(() => answerTo({ outcome: 'parked' }))
    const { stdout } = await listenTo('{}', ['--forward-to', url])
    expect(stdout).toMatch(/<-- \[200\] parked POST .+\n {13}Your receiver parked it: it is not handled/)
  })

  test('prints lines of text, without control characters of a body', async () => {
    const { code, stdout, stderr } = await listenTo('{"type":"a\u009b2Jb"}', ['--body'])
    expect(code).toBe(0)
    expect(stdout).toMatch(
      /^\d\d:\d\d:\d\d --> a\ufffd2Jb verified attempt 1 signed \d s ago 17 bytes\n {13}\{"type":"a\ufffd2Jb"\}\n\d\d:\d\d:\d\d <-- \[200\] attempt 1 \d+ ms$/m,
    )
    expect(stderr).toContain('No sandbox is running: it receives only what is sent to this address.')
  })
})

/** What it prints of one delivery. */
function listenTo(body: string, argv: readonly string[]): ReturnType<typeof run> {
  const stopped = new AbortController()
  let url: string | undefined
  return run(['listen', '--secret', secret, ...argv], {
    signal: stopped.signal,
    onOutput: ({ stdout }) => {
      const found = /Listening at (\S+?),? /.exec(stdout.replaceAll('\n', ' '))?.[1]
      if (url !== undefined || found === undefined) return
      url = found
      void signedBody(body, { secret })
        .then((delivery) => fetch(found, delivery))
        .then(() => stopped.abort())
    },
  })
}

/** Sends headers that `fetch` refuses: repeated ones, and those of the connection. */
function post(url: string, headers: Record<string, string | string[]>): Promise<void> {
  return new Promise((resolve, reject) => {
    const outgoing = httpRequest(url, { method: 'POST', headers, agent: new Agent({ keepAlive: false }) })
    outgoing.on('error', reject)
    outgoing.on('response', (response) => response.resume().on('end', resolve))
    outgoing.end('x')
  })
}
