/** @module-tag slow */
import { createContext, runInContext } from 'node:vm'
import { build } from 'esbuild'
import { beforeAll, describe, expect, test } from 'vitest'
import { SECRET } from '../support/deliveries.js'
import { ROOT } from '../support/root.js'

/** A test as a user writes it, on a runtime that has the web's globals and nothing of Node's. */
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

/** The globals of a web runtime that the test is about; \`crypto\` is refused while the module loads. */
function runtime(extra: object) {
  let isLoading = true
  const { subtle } = crypto
  const globals = {
    crypto: {
      get subtle() {
        if (isLoading) throw new Error('crypto is not allowed in global scope')
        return subtle
      },
      randomUUID() {
        if (isLoading) throw new Error('crypto is not allowed in global scope')
        return crypto.randomUUID()
      },
    },
    ...{ Uint8Array, ArrayBuffer, Request, Response, Headers, URL, ReadableStream, TextEncoder, TextDecoder },
    ...{ AbortController, performance, atob, btoa, setTimeout, clearTimeout, console },
  }
  return {
    run(code: string): Promise<string> {
      const context = createContext({ ...globals, ...extra })
      const users: { run(): Promise<string> } = runInContext(`${code}; users`, context)
      isLoading = false
      return users.run()
    },
  }
}

describe.each([
  ['neutral', 'without a process', {}],
  ['browser', 'whose process is a stub', { process: { env: {} } }],
] as const)('bundled for platform %s, on a runtime %s, the kit', (platform, _, extra) => {
  let built: { code: string; imports: unknown[]; inputs: string[] }

  beforeAll(async () => {
    const result = await build({
      stdin: { contents: USERS_TEST, resolveDir: ROOT },
      absWorkingDir: ROOT,
      alias: {
        'tix-webhooks/fetch': `${ROOT}src/fetch.ts`,
        'tix-webhooks/testing': `${ROOT}testing/index.ts`,
      },
      bundle: true,
      format: 'iife',
      globalName: 'users',
      platform,
      treeShaking: false,
      // So that an import of Node's would be in the output for the test to find, instead of failing the build.
      external: ['node:*'],
      metafile: true,
      write: false,
    })
    built = {
      code: result.outputFiles[0]?.text ?? '',
      inputs: Object.keys(result.metafile.inputs),
      imports: Object.values(result.metafile.outputs).flatMap(({ imports }) => imports),
    }
  })

  test('imports nothing: not from Node, and no third party', () => {
    expect(built.imports).toEqual([])
    expect(built.inputs).toContain('testing/index.ts')
    expect(built.inputs.filter((path) => !/^(<stdin>|src\/|testing\/)/.test(path))).toEqual([])
    expect(built.code).not.toMatch(/\brequire\(|\bimport\(|__dirname/)
  })

  test('works, and asks nothing of the runtime while it loads', async () => {
    expect(JSON.parse(await runtime(extra).run(built.code))).toEqual({
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
