/** @module-tag slow */
import { expect, onTestFinished, test, vi } from 'vitest'
import { type Listening, listen } from '../../../http/server.js'
import { type HttpSandbox, httpSandbox, TEST_KEY } from '../../support/http-sandbox.js'

/** Served on a socket: what a stream does when its reader goes shows nowhere else. */
async function serve(): Promise<{ sandbox: HttpSandbox; server: Listening }> {
  let url = 'http://127.0.0.1'
  const sandbox = httpSandbox({ url: () => url })
  const server = await listen(sandbox.app)
  url = server.url
  onTestFinished(() => server.close())
  return { sandbox, server }
}

/** Reads the events of a stream, one after the other. */
async function follow({ url }: Listening) {
  const leaving = new AbortController()
  const response = await fetch(`${url}/_sandbox/stream`, { signal: leaving.signal })
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  let pending = ''
  onTestFinished(() => leaving.abort())
  return {
    response,
    leave: () => leaving.abort(),
    async next(): Promise<{ event: string; data: Record<string, unknown> }> {
      for (;;) {
        const end = pending.indexOf('\n\n')
        if (end >= 0) {
          const [event = '', data = ''] = pending.slice(0, end).split('\n')
          pending = pending.slice(end + 2)
          return { event, data: JSON.parse(data.replace('data: ', '')) }
        }
        const { value, done } = (await reader?.read()) ?? { done: true }
        if (done) throw new Error('The stream has ended.')
        pending += value
      }
    },
  }
}

test('sends the state on connect, and when it has changed', async () => {
  const { sandbox, server } = await serve()
  const stream = await follow(server)
  expect(stream.response.headers.get('content-type')).toBe('text/event-stream')
  const first = await stream.next()
  expect(first).toMatchObject({ event: 'event: state', data: { endpoints: [], requests: [] } })
  const state = await (await fetch(`${server.url}/_sandbox/state`)).json()
  expect(Object.keys(first.data)).toEqual(Object.keys(state))

  sandbox.service.engine.createEndpoint({ url: 'http://127.0.0.1:3000/' })
  expect((await stream.next()).data).toMatchObject({ endpoints: [{ url: 'http://127.0.0.1:3000/' }] })
  await fetch(`${server.url}/v2/venues`, { headers: { authorization: `bearer ${TEST_KEY}` } })
  expect((await stream.next()).data).toMatchObject({ requests: [{ path: '/v2/venues' }] })
})

test('sends no more than 20 states a second, and the last one is the newest', async () => {
  const { sandbox, server } = await serve()
  const stream = await follow(server)
  await stream.next()
  const started = performance.now()
  for (let index = 1; index <= 200; index++) {
    sandbox.service.engine.createEndpoint({ url: `http://127.0.0.1:3000/${index % 90}` })
    sandbox.service.engine.removeEndpoint(sandbox.service.engine.endpoints()[0]?.id ?? '')
    await new Promise(setImmediate)
  }
  sandbox.service.changed({ what: 'state' })
  const last = sandbox.service.engine.createEndpoint({ url: 'http://127.0.0.1:3000/last' })
  let states = 0
  for (;;) {
    const { data } = await stream.next()
    states += 1
    if (JSON.stringify(data.endpoints).includes(last.id)) break
  }
  expect(states).toBeLessThanOrEqual(1 + Math.ceil((performance.now() - started) / 50))
})

/** How many follow the service now. */
function countFollowers({ service }: HttpSandbox): () => number {
  let followers = 0
  const { subscribe } = service
  service.subscribe = (listener) => {
    const stop = subscribe.call(service, listener)
    followers += 1
    return () => {
      followers -= 1
      stop()
    }
  }
  return () => followers
}

test('HEAD follows nothing: nobody would read it', async () => {
  const sandbox = httpSandbox()
  const followers = countFollowers(sandbox)
  const { status, headers } = await sandbox.call('HEAD', '/_sandbox/stream')
  expect([status, headers.get('content-type'), followers()]).toEqual([200, 'text/event-stream', 0])
})

test('forgets a reader who has gone', async () => {
  const { sandbox, server } = await serve()
  const followers = countFollowers(sandbox)
  const streams = await Promise.all([follow(server), follow(server), follow(server)])
  for (const stream of streams) await stream.next()
  expect(followers()).toBe(3)
  // One leaves in the pause after a state; the others when that is over, which nothing shows.
  streams[0].leave()
  const idleAt = performance.now() + 300
  await expect.poll(() => performance.now()).toBeGreaterThan(idleAt)
  for (const stream of streams) stream.leave()
  await expect.poll(followers).toBe(0)
})

test('pings every 15 seconds, so that an idle connection stays open', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  onTestFinished(() => void vi.useRealTimers())
  const response = await httpSandbox().app.request('http://127.0.0.1:4010/_sandbox/stream')
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  expect((await reader?.read())?.value).toMatch(/^event: state/)
  const next = reader?.read()
  vi.advanceTimersByTime(15_000)
  expect((await next)?.value).toBe(': ping\n\n')
  await reader?.cancel()
  await expect.poll(() => vi.getTimerCount()).toBe(0)
})
