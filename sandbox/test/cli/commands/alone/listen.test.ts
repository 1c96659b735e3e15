import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import { answerTo } from 'tix-webhooks'
import { signedBody, signedDelivery } from 'tix-webhooks/testing'
import { describe, expect, test } from 'vitest'
import { freePort } from '../../../../../test/support/free-port.js'
import { begin, isEvent, receiver, run } from '../../../support/cli.js'

const secret = 'whsec_listen'

/** Starts it where no sandbox is. */
async function listener(argv = '') {
  const session = begin(`listen ${argv}`.trim())
  const url = String((await session.record(isEvent('listening'))).url)
  return { session, url, post: (body: BodyInit = 'x') => fetch(url, { method: 'POST', body }) }
}

describe('listen', () => {
  test('prints what comes, verifies it and answers 200', async () => {
    const { session, url } = await listener(`--secret ${secret}`)
    const delivery = await signedDelivery('order.created', { secret })
    expect((await fetch(url, delivery)).status).toBe(200)
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

  test('answers 401 to what is not signed with the secret or too old, and says why', async () => {
    const { session, url, post } = await listener(`--secret ${secret} --respond 204`)
    const tolerant = await listener(`--secret ${secret} --tolerance 2h`)
    const stale = await signedDelivery('order.created', { secret, now: () => Date.now() - 3_600_000 })
    const statuses = [await fetch(url, stale), await post('{}'), await fetch(tolerant.url, stale)]
    expect(statuses.map(({ status }) => status)).toEqual([401, 401, 200])
    const received = session.records().filter(isEvent('received'))
    expect(received.map(({ code }) => code)).toEqual(['timestamp_too_old', 'header_missing'])
  })

  test('verifies nothing without a secret, and says so', async () => {
    const { session, post } = await listener()
    expect((await post('no JSON')).status).toBe(200)
    expect(session.records()[1]).toMatchObject({ verdict: 'unchecked', body: 'no JSON' })
    expect(session.said.stderr).toContain(
      'Signatures are not verified: give --secret, or set TIX_SIGNING_SECRET.',
    )
  })

  test('answers each event with the given statuses in turn, then with the last one', async () => {
    const { url } = await listener(`--secret ${secret} --respond 500,503,200`)
    const first = await signedDelivery('order.created', { secret })
    const second = await signedDelivery('order.created', { secret })
    const statuses: number[] = []
    for (const delivery of [first, second, first, first, await first.signAgain({}), second]) {
      statuses.push((await fetch(url, delivery)).status)
    }
    expect(statuses).toEqual([500, 500, 503, 200, 200, 503])
  })

  test('waits before it answers, with a delay, but not after Ctrl-C', async () => {
    const long = await listener('--delay 1h')
    const pending = long.post().catch(() => 'cut off')
    await long.session.record(isEvent('received'))
    expect((await long.session.stop()).code).toBe(0)
    expect(await pending).toBe('cut off')
  })

  test('refuses a body of more than 16 MiB', { tags: ['slow'] }, async () => {
    const { session, post } = await listener()
    expect((await post(new Uint8Array(16 * 1024 * 1024 + 1))).status).toBe(413)
    expect((await post(new Uint8Array(16 * 1024 * 1024))).status).toBe(200)
    expect(session.records().filter(isEvent('received'))).toHaveLength(1)
  })
})

describe('listen --forward-to', () => {
  test('passes the exact bytes and headers on, and gives the answer back', async () => {
    const answered = Uint8Array.from([0xff, 0x00, 0x0a])
    const { url: target, arrivals } = await receiver(() => ({
      status: 418,
      headers: { 'x-answer': 'yes', 'content-type': 'text/plain' },
      body: answered,
    }))
    const { url } = await listener(`--secret ${secret} --forward-to ${target}`)
    const body = Uint8Array.from([0xef, 0xbb, 0xbf, 0x7b, 0x7d, 0xff, 0x0d, 0x0a])
    const headers = {
      ...(await signedBody(body, { secret })).headers,
      'x-custom-thing': 'a, b',
      'content-type': 'application/JSON; charset=utf-8',
    }
    const answer = await fetch(url, { method: 'POST', body, headers })
    expect([answer.status, answer.headers.get('x-answer')]).toEqual([418, 'yes'])
    expect(new Uint8Array(await answer.arrayBuffer())).toEqual(answered)
    expect(arrivals).toMatchObject([
      {
        method: 'POST',
        path: '/hooks?a=1&b=2',
        headers: { ...headers, host: new URL(target).host, 'content-length': '8' },
        body: Buffer.from(body),
      },
    ])
  })

  test('passes headers on that come twice, and leaves out those of the connection', async () => {
    const { url: target, arrivals } = await receiver()
    const { url } = await listener(`--forward-to ${target}`)
    // fetch refuses to send these.
    const headers = { 'x-twice': ['a', 'b'], te: 'trailers', 'keep-alive': 'timeout=5' }
    const outgoing = httpRequest(url, { method: 'POST', headers, agent: false })
    outgoing.end('x')
    await once(outgoing, 'response')
    const [{ rawHeaders = [], headers: arrived } = {}] = arrivals
    expect(rawHeaders.filter((_, index) => rawHeaders[index - 1] === 'x-twice')).toEqual(['a', 'b'])
    expect(arrived).not.toHaveProperty('te')
    expect(arrived).not.toHaveProperty('keep-alive')
  })

  test('answers 502 where nothing listens, and says what to do', async () => {
    const { session, post } = await listener(`--forward-to http://127.0.0.1:${await freePort()}/hooks`)
    expect((await post()).status).toBe(502)
    expect(await session.record(isEvent('answered'))).toMatchObject({
      error: { code: 'ECONNREFUSED', message: expect.stringContaining('is your receiver running?') },
    })
  })

  test.each(['localhost', '0.0.0.0', '[::ffff:127.0.0.1]', '2130706433'])(
    'refuses to pass on to itself, by the name %s',
    async (host) => {
      const port = await freePort()
      const { code, stderr } = await run(`listen --port ${port} --forward-to http://${host}:${port}/hooks`)
      expect(code).toBe(2)
      expect(stderr).toContain(`--forward-to http://${host}:${port}/hooks is this listener itself: `)
    },
  )

  test('passes on no request that it has passed on before', async () => {
    const [port, otherPort] = [await freePort(), await freePort()]
    const one = await listener(`--port ${port} --forward-to http://127.0.0.1:${otherPort}/`)
    const other = await listener(`--port ${otherPort} --forward-to http://127.0.0.1:${port}/`)
    const answer = await fetch(one.url, { method: 'POST', body: 'x', headers: { via: '1.1 proxy' } })
    expect(answer.status).toBe(508)
    expect(await answer.json()).toMatchObject({ error: { code: 'loop' } })
    expect(one.session.records().filter(isEvent('received'))).toHaveLength(2)
    expect(other.session.records().filter(isEvent('received'))).toHaveLength(1)
  })
})

test('listen prints lines of text, without control characters of a body, and says of what is parked that it is not handled', async () => {
  const { url: target } = await receiver(() => answerTo({ outcome: 'parked' }))
  const delivery = await signedBody('{"type":"a\u009b2Jb"}', { secret })
  const session = begin(`listen --secret ${secret} --body --forward-to ${target}`, { asText: true })
  await fetch(await session.printed(/Listening at (\S+?),?\s/), delivery)
  const { code, stdout, stderr } = await session.stop()
  expect(code).toBe(0)
  expect(stdout).toMatch(
    /^\d\d:\d\d:\d\d --> a\ufffd2Jb verified attempt 1 signed \d s ago 17 bytes\n {13}\{"type":"a\ufffd2Jb"\}\n\d\d:\d\d:\d\d <-- \[200\] parked POST .+\n {13}Your receiver parked it: it is not handled/m,
  )
  expect(stderr).toContain('No sandbox is running: it receives only what is sent to this address.')
})
