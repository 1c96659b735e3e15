import { AsyncLocalStorage } from 'node:async_hooks'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { tixWebhooks } from 'tix-webhooks/fetch'
import { createSandbox, type Sandbox, type SandboxOptions } from 'tix-webhooks-sandbox'
import { describe, expect, onTestFinished, test } from 'vitest'
import { SECRET } from '../../test/support/deliveries.js'
import { listen } from '../../test/support/http.js'
import { deferred } from '../../test/support/promises.js'
import { emptyFolder } from './support/cli.js'

const REFUSAL = 'The sandbox is closed: create another one.'

const post = (sandbox: Sandbox, body: object): Promise<Response> =>
  sandbox.fetch('/_sandbox/trigger', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ kind: 'order.created', ...body }),
  })

describe('a sandbox that is closed', () => {
  test('has saved its state in the folder of its start, even if the process has changed it', async () => {
    const [folder, before] = [emptyFolder(), process.cwd()]
    const warnings: string[] = []
    process.chdir(folder)
    const sandbox = createSandbox({ stateFile: 'state.json', onWarning: (message) => warnings.push(message) })
    process.chdir(before)
    sandbox.fill({ venues: [{ name: 'The Old Customs House' }] })
    await sandbox.close()
    expect([warnings, readdirSync(folder)]).toEqual([[], ['state.json']])
    expect(readFileSync(join(folder, 'state.json'), 'utf8')).toContain('The Old Customs House')
  })

  test('triggers nothing and does not listen', async () => {
    const sandbox = createSandbox({ deliver: () => new Response() })
    await sandbox.close()
    await expect(sandbox.trigger('order.created')).rejects.toThrow(REFUSAL)
    await expect(sandbox.listen()).rejects.toThrow(REFUSAL)
    for (const body of [{}, { wait: true }, { scenario: 'stale' }]) {
      const answer = await post(sandbox, body)
      expect(answer.status).toBe(409)
      expect(await answer.json()).toMatchObject({ error: { code: 'sandbox_closed', message: REFUSAL } })
    }
    expect(sandbox.deliveries.list()).toEqual([])
    await sandbox.close()
  })

  test('answers the calls that waited', async () => {
    const answer = deferred<Response>()
    const called = deferred<void>()
    const deliver = () => {
      called.resolve()
      return answer.promise
    }
    // The second delivery waits for the first, and so never begins.
    const sandbox = createSandbox({ serial: true, deliver })
    const waiting = post(sandbox, { wait: true, repeat: 2 })
    await called.promise
    await sandbox.close()
    expect((await waiting).status).toBe(201)
    answer.resolve(new Response())
  })
})

function open(options: SandboxOptions = {}) {
  const handled: string[] = []
  const POST = tixWebhooks({
    secret: SECRET,
    on: { 'order.created': (event) => void handled.push(event.data.order.id) },
  })
  const sandbox = createSandbox({
    secret: SECRET,
    deliver: POST,
    startAt: '2026-11-20T12:00:00Z',
    ...options,
  })
  onTestFinished(() => sandbox.close())
  return { sandbox, handled }
}

test('a reset removes data, deliveries and time, and keeps the endpoints', async () => {
  const { sandbox, handled } = open()
  const kept = () => [sandbox.account.listVenues(), sandbox.endpoints.list(), sandbox.clock.now()]
  const before = kept()
  await sandbox.trigger('order.created')
  await sandbox.clock.advance('72h')
  sandbox.reset()
  expect(kept()).toEqual(before)
  expect(sandbox.account.listEvents().data).toEqual([])
  expect(sandbox.deliveries.list()).toEqual([])
  expect(sandbox.clock.nextAtMs).toBeUndefined()
  // A receiver that remembers the first event takes the second for a new one.
  await sandbox.trigger('order.created')
  expect(new Set(handled).size).toBe(2)
})

test('with the virtual time in the signature, a receiver with that clock accepts every retry', async () => {
  let runs = 0
  const sandbox = createSandbox({
    secret: SECRET,
    signingClock: 'virtual',
    deliver: (request) => POST(request),
  })
  onTestFinished(() => sandbox.close())
  const handle = () => {
    runs += 1
    if (runs < 11) throw new Error('not yet')
  }
  const { now } = sandbox.clock
  const POST = tixWebhooks({ secret: SECRET, on: { 'order.created': handle }, now, onError: () => {} })
  await sandbox.trigger('order.created')
  await sandbox.clock.advance('72h')
  expect([runs, sandbox.deliveries.list()[0]?.status]).toEqual([11, 'delivered'])
})

test('after a reset with a seed everything repeats, to the byte', async () => {
  const { sandbox } = open({ seed: 3 })
  const run = async () => {
    await sandbox.trigger('order.created', { chain: true, repeat: 2 })
    return sandbox.deliveries.list().map(({ id, message }) => [id, message])
  }
  const first = await run()
  sandbox.reset()
  expect(await run()).toEqual(first)
})

describe.each(['in process', 'over HTTP'] as const)(
  'with no time-out and a receiver that never answers %s',
  (way) => {
    /** A sandbox whose receiver answers nothing until it is mended. */
    async function hung() {
      const requests = { count: 0 }
      let isHung = true
      const receiver = await listen((_, response) => {
        requests.count += 1
        if (!isHung) response.writeHead(204).end()
      })
      onTestFinished(() => receiver.close())
      const deliver = (): Response | Promise<Response> => {
        requests.count += 1
        return isHung ? new Promise(() => {}) : new Response(null, { status: 204 })
      }
      const sandbox = createSandbox({
        secret: SECRET,
        timeoutSeconds: 0,
        ...(way === 'in process' ? { deliver } : { endpoints: [{ url: receiver.url }] }),
      })
      onTestFinished(() => sandbox.close())
      const until = async (count: number) => {
        while (requests.count < count) await new Promise((resolve) => setImmediate(resolve))
      }
      const mend = () => {
        isHung = false
      }
      return { sandbox, requests, until, mend }
    }

    test('[N141] a reset ends the attempts in progress, and all that waited for them', async () => {
      const { sandbox, until, mend } = await hung()
      const triggered = sandbox.trigger('order.created', { repeat: 6 })
      await until(4)
      const [delivery] = sandbox.deliveries.list()
      const waiting = [
        triggered,
        sandbox.clock.advance('72h'),
        sandbox.clock.next(),
        sandbox.settled(),
        sandbox.deliveries.resend(delivery?.id ?? '').catch(() => {}),
      ]
      mend()
      sandbox.reset()
      await Promise.all(waiting)
      expect(sandbox.deliveries.list()).toEqual([])

      await sandbox.trigger('order.created')
      await sandbox.clock.advance('72h')
      expect(sandbox.deliveries.list().map(({ status }) => status)).toEqual(['delivered'])
    })

    test('[N141] a reset ends a scenario that is not fully sent', async () => {
      const { sandbox, requests, until } = await hung()
      const triggered = sandbox.trigger('order.created', { scenario: 'duplicate', repeat: 3 })
      await until(1)
      sandbox.reset()
      expect((await triggered).attempts).toEqual([])
      await sandbox.clock.advance('1h')
      expect(requests.count).toBe(1)
      expect(sandbox.deliveries.list()).toEqual([])
    })

    test('closing the sandbox aborts the attempts in progress, and starts no more', async () => {
      const { sandbox, requests, until } = await hung()
      const triggered = sandbox.trigger('order.created', { repeat: 6 })
      await until(4)
      await sandbox.close()
      await triggered
      const errors = () => sandbox.deliveries.list().map(({ attempts: [attempt] }) => attempt?.error?.code)
      await expect.poll(() => errors().sort()).toEqual([...Array(4).fill('broken_off'), undefined, undefined])
      expect(requests.count).toBe(4)
    })
  },
)

const tenant = new AsyncLocalStorage<string>()

test('a receiver is called in the context of its trigger or resend, even if its turn comes later', async () => {
  let seen: (string | undefined)[] = []
  const sandbox = createSandbox({
    async deliver(request) {
      const context = tenant.getStore()
      const { data } = (await request.json()) as { data: { tenant?: string } }
      seen.push(data.tenant === undefined ? context : `${data.tenant} in ${context}`)
      return new Response(null)
    },
  })
  onTestFinished(() => sandbox.close())
  await tenant.run('A', () => sandbox.trigger('order.created'))
  const { deliveries } = await tenant.run('B', () => sandbox.trigger('order.created', { repeat: 6 }))
  expect(seen).toEqual(['A', ...Array(6).fill('B')])

  // Attempts in progress together are signed in parallel, so they arrive in any order: each must have its own context.
  seen = []
  const trigger = (name: string) => sandbox.trigger('order.created', { data: { tenant: name } })
  await Promise.all(['A', 'B', 'C'].map((name) => tenant.run(name, () => trigger(name))))
  expect(seen.sort()).toEqual(['A in A', 'B in B', 'C in C'])

  seen = []
  const tenants = Array.from({ length: 10 }, (_, index) => String(index))
  const resend = () => sandbox.deliveries.resend(String(deliveries[0]))
  await Promise.all(tenants.map((name) => tenant.run(name, resend)))
  expect(seen.sort()).toEqual(tenants)
})

test('an error within a delivery is reported as a warning', async () => {
  const warned = new Promise<string>((onWarning) => {
    const sandbox = createSandbox({ secret: 'whsec_test', deliver: () => new Response(null), onWarning })
    onTestFinished(() => sandbox.close())
    sandbox.subscribe(({ what }) => {
      if (what === 'attempt') throw new Error('a listener failed')
    })
    void sandbox.trigger('order.created')
  })
  expect(await warned).toMatch(/^The sandbox failed\. Error: a listener failed/)
})

type Call = (sandbox: Sandbox, options: never) => unknown

/** The methods that take options, as a program without types calls them. */
describe.each<[string, string, Call]>([
  [
    'trigger',
    'set, data, event, chain, scenario, repeat, mode',
    (sandbox, options) => sandbox.trigger('order.created', options),
  ],
  ['faults.add', 'path, method, status, delayMs, drop, times', ({ faults }, options) => faults.add(options)],
])('%s', (_name, names, call) => {
  test.each([
    [{ mistake: undefined }, 'There is no option mistake.'],
    [new Map(), 'The options must be an object of'],
  ])('refuses %o, and does nothing', async (options, message) => {
    const sandbox = createSandbox({ deliver: () => new Response(null) })
    onTestFinished(() => sandbox.close())
    const called = expect((async () => call(sandbox, options as never))())
    await called.rejects.toThrow(new RegExp(`^${message}.* ${names}\\.$`))
    expect(sandbox.deliveries.counts()).toMatchObject({ pending: 0, delivered: 0 })
    expect(sandbox.faults.list()).toEqual([])
    await sandbox.listen()
  })
})
