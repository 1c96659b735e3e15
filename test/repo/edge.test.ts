import { createContext, runInContext } from 'node:vm'
import { EdgeRuntime, runServer } from 'edge-runtime'
import { build } from 'esbuild'
import { beforeAll, describe, expect, test } from 'vitest'
import { orderCreated, SECRET, sign } from '../support/deliveries.js'
import { answerOf, PlatformContext, requestOf } from '../support/fetching.js'
import { deliver } from '../support/raw-bytes-harness.js'
import { ROOT } from '../support/root.js'
import { gzipped, workerBundle } from '../support/worker-bundle.js'

const WORKER = `
  import { Hono } from 'hono'
  import { tixWebhooks as forFetch } from 'tix-webhooks/fetch'
  import { tixWebhooks as forHono } from 'tix-webhooks/hono'

  const on = { 'order.created': async (event, ctx) => { runs.push([event.data.order.id, ctx.attempt]) } }
  const bare = forFetch({ secret: '${SECRET}', on })
  const app = new Hono().post('/hooks', forHono({ secret: (c) => c.env.SECRET, on }))

  export const entries = { bare: (request, env, ctx) => bare(request, ctx), hono: app.fetch }
  export const runs = []
`

/** A test as a user writes it, which proves the kit. */
const USERS_TEST = `
  import { tixWebhooks } from 'tix-webhooks/fetch'
  import * as kit from 'tix-webhooks/testing'

  const secret = '${SECRET}'
  const runs = []
  const on = { 'order.created': (event, ctx) => { runs.push([event.data.order.id, ctx.attempt]) } }

  export async function run() {
    const clock = kit.createTestClock()
    const POST = tixWebhooks({ secret, on, now: clock.now, onError: () => {} })
    const outcome = async (delivery) => (await (await POST(delivery.toRequest('/hooks'))).json()).outcome

    const options = { secret, now: clock.now, data: { order: { id: 'ord_edge' } } }
    const delivery = await kit.signedDelivery('order.created', options)
    const outcomes = [await outcome(delivery), await outcome(delivery)]
    clock.advance(301_000)
    outcomes.push(await outcome(delivery), await outcome(await delivery.signAgain()))
    const bytes = await kit.signedBody(Uint8Array.of(0, 255), { secret, now: clock.now })
    outcomes.push(await outcome(bytes))

    const event = kit.sampleEvent('order.created', { at: new Date(0), data: { order: { id: 'ord_alone' } } })
    await kit.callHandler(on, 'order.created', event)

    const attempts = await kit.deliverWithRetries(() => ({ status: 500 }), delivery, { clock })
    const withstood = []
    for (const { name, deliver, expect } of await kit.scenarios('event.published', { secret, now: clock.now })) {
      const answers = await deliver((one) => POST(one.toRequest('/hooks')))
      if (answers.every(({ status }) => expect.statuses.includes(status))) withstood.push(name)
    }
    const mount = async (options) => {
      const handle = tixWebhooks(options)
      const send = async ({ toRequest }) => {
        const response = await handle(toRequest('/hooks'))
        return { status: response.status, headers: response.headers, text: await response.text() }
      }
      return { send, close: async () => {} }
    }
    // The largest bodies need a second in a context of its own, and are the same to every runtime.
    for (const { id, run } of kit.adapterCases) if (!id.startsWith('size-')) await run({ mount })
    const proved = { attempts: attempts.length, withstood: withstood.length }
    return JSON.stringify({ proved, outcomes, runs, payload: bytes.toInject('/hooks').payload instanceof Uint8Array })
  }
`

type Entry = (request: Request, env: object, ctx: PlatformContext) => Promise<Response>

interface Worker {
  readonly entries: Readonly<Record<'bare' | 'hono', Entry>>
  readonly runs: readonly unknown[]
}

/** Bundles a module from the sources, as a platform's own tool does. */
async function bundle(contents: string, platform: 'neutral' | 'browser') {
  const result = await build({
    stdin: { contents, resolveDir: ROOT },
    absWorkingDir: ROOT,
    alias: {
      'tix-webhooks/fetch': `${ROOT}adapters/fetch.ts`,
      'tix-webhooks/hono': `${ROOT}adapters/hono.ts`,
      'tix-webhooks/testing': `${ROOT}testing/index.ts`,
    },
    bundle: true,
    format: 'iife',
    globalName: 'bundled',
    treeShaking: false,
    platform,
    conditions: ['worker'],
    // So that an import of `node:` is in the output for the test to find, instead of failing the build.
    external: ['node:*'],
    metafile: true,
    write: false,
  })
  return {
    code: result.outputFiles[0]?.text ?? '',
    inputs: Object.keys(result.metafile.inputs),
    imports: Object.values(result.metafile.outputs).flatMap((output) => output.imports),
  }
}

/** The globals of a web runtime without any of Node's. While the module loads, it is as strict as Workers. */
function runtime() {
  let loading = true
  const used: string[] = []
  const logged: string[] = []
  const guarded =
    <Args extends unknown[], Result>(name: string, call: (...args: Args) => Result) =>
    (...args: Args): Result => {
      if (loading) throw new Error(`${name} is not allowed in global scope`)
      used.push(name)
      return call(...args)
    }
  const { subtle } = crypto
  const globals = {
    crypto: {
      getRandomValues: guarded('getRandomValues', (array: Uint8Array<ArrayBuffer>) =>
        crypto.getRandomValues(array),
      ),
      randomUUID: guarded('randomUUID', () => crypto.randomUUID()),
      subtle: {
        importKey: guarded('importKey', subtle.importKey.bind(subtle)),
        sign: guarded('sign', subtle.sign.bind(subtle)),
        digest: guarded('digest', subtle.digest.bind(subtle)),
      },
    },
    fetch: guarded('fetch', fetch),
    setTimeout: guarded('setTimeout', (callback: () => void, ms: number, value: unknown) =>
      // A number, as on Workers: no unref.
      Number(setTimeout(callback, ms, value)),
    ),
    clearTimeout: (timer: number) => clearTimeout(timer),
    // The bytes of a Request are of this realm, as in a runtime with only one realm.
    ...{ Uint8Array, ArrayBuffer },
    ...{ Request, Response, Headers, URL, ReadableStream, TextEncoder, TextDecoder, Blob, FormData },
    ...{ AbortController, performance, atob, btoa },
    console: { error: (line: string) => logged.push(line), warn: (line: string) => logged.push(line) },
  }
  return {
    used,
    logged,
    load<Bundled>(code: string, extra: object = {}): Bundled {
      const context = createContext({ ...globals, ...extra })
      const bundled: Bundled = runInContext(`${code}; bundled`, context)
      loading = false
      return bundled
    },
  }
}

describe.each(['neutral', 'browser'] as const)('bundled for platform %s', (platform) => {
  let built: Awaited<ReturnType<typeof bundle>>

  beforeAll(async () => {
    built = await bundle(WORKER, platform)
  })

  test('nothing is imported from Node, and nothing is in it but the receiver and Hono', () => {
    expect(built.imports).toEqual([])
    expect(built.inputs).toEqual(
      expect.arrayContaining(['adapters/fetch.ts', 'src/signature/hmac.ts', 'adapters/hono.ts']),
    )
    expect(built.inputs).not.toContain('adapters/node.ts')
    expect(
      built.inputs.filter(
        (path) =>
          !/^(<stdin>|src\/|adapters\/(hono|fetch)\.ts$|adapters\/http\/|.*\bnode_modules\/hono\/)/.test(
            path,
          ),
      ),
    ).toEqual([])
    expect(built.code).not.toMatch(/\brequire\(|\bimport\(|__dirname|\bBuffer\b/)
  })

  test.each([
    ['without a process', {}],
    ['whose process is a stub', { process: { env: { NODE_ENV: 'test' } } }],
    ['whose process knows no node:crypto', { process: { env: {}, getBuiltinModule: () => undefined } }],
  ])(
    'a runtime %s handles a signed delivery once and refuses a forged one, with one key',
    async (_, extra) => {
      for (const name of ['bare', 'hono'] as const) {
        const { load, used, logged } = runtime()
        const { entries, runs } = load<Worker>(built.code, extra)
        const send = async (delivery: Awaited<ReturnType<typeof sign>>) => {
          const response = await entries[name](requestOf(delivery), { SECRET }, new PlatformContext())
          const { status, text } = await answerOf(response)
          return [status, text]
        }
        const delivery = await sign(orderCreated({ id: 'ord_edge' }))
        expect(await send(delivery)).toEqual([200, '{"outcome":"handled"}'])
        expect(await send(delivery)).toEqual([200, '{"outcome":"duplicate"}'])
        const forged = { header: delivery.header, body: delivery.body.slice(0, -1) }
        expect(await send(forged)).toEqual([401, '{"outcome":"unauthenticated"}'])
        expect(runs).toEqual([['ord_edge', 1]])
        expect(logged).toEqual([expect.stringMatching(/^tix-webhooks: (\[\/hooks\] )?No signature/)])
        expect(used.filter((call) => call === 'sign')).toHaveLength(3)
        expect(used.filter((call) => call === 'importKey')).toHaveLength(1)
      }
    },
  )

  test('nothing random, timed or asynchronous is asked for while the module loads', () => {
    const { load, used } = runtime()
    expect(() => load(built.code)).not.toThrow()
    expect(used).toEqual([])
    // Shows that the check works: calls that are forbidden while a module loads do throw.
    expect(() => runtime().load(`${built.code}; crypto.randomUUID()`)).toThrow('not allowed in global scope')
  })
})

describe('the kit, bundled for a runtime without a process', () => {
  let built: Awaited<ReturnType<typeof bundle>>

  beforeAll(async () => {
    built = await bundle(USERS_TEST, 'neutral')
  })

  test('imports nothing: not from Node, and no third party', () => {
    expect(built.imports).toEqual([])
    expect(built.inputs).toContain('testing/index.ts')
    expect(
      built.inputs.filter((path) => !/^(<stdin>|src\/|testing\/|adapters\/(fetch\.ts$|http\/))/.test(path)),
    ).toEqual([])
    expect(built.code).not.toMatch(/\brequire\(|\bimport\(|__dirname/)
  })

  test('works, and asks nothing of the runtime while it loads', async () => {
    const { run } = runtime().load<{ run(): Promise<string> }>(built.code)
    expect(JSON.parse(await run())).toEqual({
      proved: { attempts: 11, withstood: 27 },
      outcomes: ['handled', 'duplicate', 'unauthenticated', 'duplicate', 'unprocessable'],
      runs: [
        ['ord_edge', 1],
        ['ord_alone', 1],
      ],
      payload: true,
    })
  })
})

test('edge-runtime, which is what Next runs edge routes in, handles an event once and refuses a forgery', async () => {
  const worker = `
    import { tixWebhooks } from './adapters/fetch.ts'
    const hooks = tixWebhooks({ secret: '${SECRET}', on: { 'order.created': () => {} }, onError: () => {} })
    addEventListener('fetch', (event) => event.respondWith(hooks(event.request, event)))`
  const runtime = new EdgeRuntime({ initialCode: await workerBundle(worker) })
  const server = await runServer({ runtime, host: '127.0.0.1', port: 0 })
  try {
    const port = Number(new URL(server.url).port)
    const { header, body } = await sign(orderCreated())
    const answers: unknown[] = []
    for (const sent of [body, body, body.slice(0, -1)]) {
      const { status, text } = await deliver(port, { header, body: sent })
      answers.push([status, text])
    }
    expect(answers).toEqual([
      [200, '{"outcome":"handled"}'],
      [200, '{"outcome":"duplicate"}'],
      [401, '{"outcome":"unauthenticated"}'],
    ])
  } finally {
    await server.close()
  }
})

/**
 * Raised only on purpose: every byte of the receiver is downloaded at each cold start of a Worker. `npm run bench -- --only
 * loading` shows the share of each file.
 */
const MAX_BYTES = 35_700

test('the receiver in a Worker, without Hono, is no larger than it has to be', async () => {
  const code = await workerBundle("export { tixWebhooks } from './adapters/hono.ts'", { external: ['hono'] })
  expect(code, 'is the receiver').toContain('x-service-signature')
  expect(gzipped(code)).toBeLessThanOrEqual(MAX_BYTES)
})
