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

type Entry = (request: Request, env: object, ctx: PlatformContext) => Promise<Response>

interface Worker {
  readonly entries: Readonly<Record<'bare' | 'hono', Entry>>
  readonly runs: readonly unknown[]
}

/** Bundles the worker from the sources, as a platform's own tool does. */
async function bundle(platform: 'neutral' | 'browser') {
  const result = await build({
    stdin: { contents: WORKER, resolveDir: ROOT },
    absWorkingDir: ROOT,
    alias: { 'tix-webhooks/fetch': `${ROOT}src/fetch.ts`, 'tix-webhooks/hono': `${ROOT}adapters/hono.ts` },
    bundle: true,
    format: 'iife',
    globalName: 'worker',
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
    load(code: string, extra: object = {}): Worker {
      const context = createContext({ ...globals, ...extra })
      const worker: Worker = runInContext(`${code}; worker`, context)
      loading = false
      return worker
    },
  }
}

describe.each(['neutral', 'browser'] as const)('bundled for platform %s', (platform) => {
  let built: Awaited<ReturnType<typeof bundle>>

  beforeAll(async () => {
    built = await bundle(platform)
  })

  test('nothing is imported from Node, and nothing is in it but the receiver and Hono', () => {
    expect(built.imports).toEqual([])
    expect(built.inputs).toEqual(
      expect.arrayContaining(['src/fetch.ts', 'src/signature/hmac.ts', 'adapters/hono.ts']),
    )
    expect(built.inputs).not.toContain('src/node.ts')
    expect(
      built.inputs.filter(
        (path) => !/^(<stdin>|src\/|adapters\/hono\.ts$|.*\bnode_modules\/hono\/)/.test(path),
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
        const { entries, runs } = load(built.code, extra)
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

test('edge-runtime, which is what Next runs edge routes in, handles an event once and refuses a forgery', async () => {
  const worker = `
    import { tixWebhooks } from './src/fetch.ts'
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
 * loading` shows the share of each file. Last by 5,500 bytes for failures and replays.
 */
const MAX_BYTES = 34_700

test('the receiver in a Worker, without Hono, is no larger than it has to be', async () => {
  const code = await workerBundle("export { tixWebhooks } from './adapters/hono.ts'", { external: ['hono'] })
  expect(code, 'is the receiver').toContain('x-service-signature')
  expect(gzipped(code)).toBeLessThanOrEqual(MAX_BYTES)
})
