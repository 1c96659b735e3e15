/** @module-tag slow */
import { createSandbox } from 'tix-webhooks-sandbox'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Wait } from '../../http/inject-faults.js'
import { apiFixture, EVENT, type HttpSandboxOptions } from '../support/http-sandbox.js'

function stage(options: HttpSandboxOptions = {}) {
  const sandbox = apiFixture(options)
  const get = () => sandbox.call('GET', '/v2/events')
  return {
    ...sandbox,
    get,
    add: async (body: object) =>
      (await sandbox.call('POST', '/_sandbox/faults', { body })).json<{ id: string }>(),
    faults: async () => (await sandbox.read<{ data: object[] }>('/_sandbox/faults')).data,
    remove: (id = '') => sandbox.call('DELETE', `/_sandbox/faults${id}`),
    async statuses(count: number) {
      const answers = []
      for (let index = 0; index < count; index++) answers.push((await get()).status)
      return answers
    },
  }
}

/** Waits until a test says that the time is over, or until it is broken off. */
function heldTime() {
  const waits: { ms: number; end: () => void }[] = []
  const wait: Wait = (ms, signal) =>
    new Promise((resolve) => {
      signal.addEventListener('abort', () => resolve())
      waits.push({ ms, end: resolve })
    })
  return { wait, waits }
}

describe('[N145] an error', () => {
  test.each([
    [401, 'api_key_invalid'],
    [404, 'resource_missing'],
    [429, 'rate_limited'],
    [503, 'internal'],
    [599, 'internal'],
  ])('of %i is answered in the form of the service', async (status, code) => {
    const { app, add } = stage()
    const { id } = await add({ path: '/v2/events', status })
    const answer = await app.request('http://127.0.0.1:4010/v2/events')
    expect(answer.status).toBe(status)
    // As without a fault.
    expect(answer.headers.get('retry-after')).toBe(status === 429 ? '1' : null)
    expect(answer.headers.get('www-authenticate')).toBe(status === 401 ? 'Bearer' : null)
    expect(await answer.json()).toMatchObject({ error: { code, message: expect.stringContaining(id) } })
  })

  test('does nothing else, and is logged', async () => {
    const { add, call, service, read } = stage()
    const { id } = await add({ path: '/v2/events', status: 503 })
    expect((await call('POST', '/v2/events', { body: EVENT })).status).toBe(503)
    expect(service.accounts.test.counts().events).toBe(0)
    const logged = { status: 503, error_code: 'internal', note: `fault ${id}` }
    expect(await read('/_sandbox/requests')).toMatchObject({ data: [logged] })
  })
})

describe('[N146] a fault', () => {
  test('hits the requests whose path begins with its own, of its method', async () => {
    const { add, call, create } = stage()
    const { id } = await create()
    await add({ path: '/v2/events/', method: 'get', status: 500 })
    expect((await call('GET', `/v2/events/${id}`)).status).toBe(500)
    expect((await call('PATCH', `/v2/events/${id}`, { body: {} })).status).toBe(200)
    expect((await call('GET', '/v2/events')).status).toBe(200)
    expect((await call('GET', '/v2/venues')).status).toBe(200)
  })

  test('counts down, and the next one takes its place', async () => {
    const { add, faults, statuses } = stage()
    await add({ path: '/v2', status: 500, times: 2 })
    const next = await add({ path: '/v2', status: 429, times: 5 })
    expect(await statuses(3)).toEqual([500, 500, 429])
    expect(await faults()).toEqual([{ ...next, times: 4, hits: 1 }])
  })

  test('stays until it is removed, alone or with all others', async () => {
    const { add, faults, remove, statuses } = stage()
    const { id } = await add({ path: '/v2', status: 500 })
    expect(await statuses(3)).toEqual([500, 500, 500])
    expect(await faults()).toMatchObject([{ id, hits: 3 }])
    expect((await remove(`/${id}`)).status).toBe(204)
    expect((await remove(`/${id}`)).code).toBe('resource_missing')
    expect(await statuses(1)).toEqual([200])
    await add({ path: '/v2', status: 500 })
    expect((await remove()).status).toBe(204)
    expect(await faults()).toEqual([])
  })

  test.each([
    [{}, 'parameter_missing', /path/],
    [{ path: '/_sandbox', status: 500 }, 'parameter_invalid', /beginning of a path of the API/],
    [{ path: '/v2/events?limit=1', status: 500 }, 'parameter_invalid', /without a query/],
    [{ path: '/v2' }, 'parameter_invalid', /does nothing/],
    [{ path: '/v2', drop: true, status: 500 }, 'parameter_invalid', /not both/],
    [{ path: '/v2', status: 200 }, 'parameter_invalid', /status must be 400, 401/],
    [{ path: '/v2', delay_ms: 600_001 }, 'parameter_invalid', /ten minutes/],
    [{ path: '/v2', status: 500, times: 0 }, 'parameter_invalid', /times must be/],
    [{ path: '/v2', status: 500, method: 'FETCH' }, 'parameter_invalid', /GET, HEAD, POST/],
    [{ path: '/v2', status: 500, delay: '5s' }, 'parameter_unknown', /delay/],
  ])('that is %j is refused', async (body, code, message) => {
    const { call, faults } = stage()
    const answer = await call('POST', '/_sandbox/faults', { body })
    expect([answer.status, answer.code]).toEqual([400, code])
    expect(answer.text).toMatch(message)
    expect(await faults()).toEqual([])
  })
})

describe('[N147] a delay', () => {
  test('is of real time, and holds the answer to a request that was done', async () => {
    const { wait, waits } = heldTime()
    const { add, call, service } = stage({ wait })
    await add({ path: '/v2/events', delay_ms: 30_000 })
    const answer = call('POST', '/v2/events', { body: EVENT })
    await expect.poll(() => waits).toHaveLength(1)
    expect(waits[0]?.ms).toBe(30_000)
    expect(service.accounts.test.counts().events).toBe(1)
    waits[0]?.end()
    expect((await answer).status).toBe(201)
  })

  type Stage = ReturnType<typeof stage>
  test.each<[string, object, number, (sandbox: Stage, id: string) => unknown]>([
    ['its fault is removed', {}, 200, ({ remove }, id) => remove(`/${id}`)],
    ['its fault, with an error, is removed', { status: 503 }, 503, ({ remove }, id) => remove(`/${id}`)],
    ['a reset', { times: 1 }, 200, ({ call }) => call('POST', '/_sandbox/reset', { body: {} })],
    ['the sandbox is closed', { times: 1 }, 200, ({ service }) => service.close()],
  ])('ends when %s, even if the fault %j is used up', async (_, fault, status, end) => {
    const { wait, waits } = heldTime()
    const sandbox = stage({ wait })
    const { id } = await sandbox.add({ path: '/v2/events', delay_ms: 1, ...fault })
    const answer = sandbox.get()
    await expect.poll(() => waits).toHaveLength(1)
    await end(sandbox, id)
    expect((await answer).status).toBe(status)
  })
})

describe('[N148] a dropped connection', () => {
  test('is one on a socket, and the next request is answered', async () => {
    const sandbox = createSandbox()
    onTestFinished(() => sandbox.close())
    const url = await sandbox.listen()
    sandbox.faults.add({ path: '/v2/sandbox/orders', drop: true, times: 1 })
    const order = () => fetch(`${url}/v2/sandbox/orders`, { method: 'POST', body: '{}' })
    await expect(order()).rejects.toThrow('fetch failed')
    expect((await order()).status).toBe(401)
    const log = (await (await fetch(`${url}/_sandbox/requests`)).json()) as { data: object[] }
    expect(log.data).toMatchObject([
      { status: 401 },
      { status: 0, note: expect.stringMatching(/^fault flt_\w+: connection dropped$/) },
    ])
  })

  test('is an error of fetch in this process', async () => {
    const sandbox = createSandbox()
    onTestFinished(() => sandbox.close())
    const fault = sandbox.faults.add({ path: '/v2', drop: true })
    const error = { name: 'TypeError', message: 'fetch failed', cause: { code: 'UND_ERR_SOCKET' } }
    await expect(sandbox.fetch('/v2/events')).rejects.toMatchObject(error)
    expect(sandbox.faults.list()).toEqual([{ ...fault, hits: 1 }])
    expect(sandbox.faults.remove(fault.id)).toBe(true)
    expect((await sandbox.fetch('/v2/events')).status).toBe(401)
    const invalid = () => sandbox.faults.add({ path: '/v2', delayMs: 0.5 })
    expect(invalid).toThrow(/^The delay must be from 1 to 600000 whole milliseconds/)
  })
})

test('[N149] the control, the pages and the description are never hit', async () => {
  const { add, call } = stage()
  await add({ path: '/v2', status: 500 })
  for (const path of ['/_sandbox', '/_sandbox/state', '/_sandbox/faults', '/openapi.json', '/']) {
    expect((await call('GET', path)).status).toBe(200)
  }
})
