import { type FetchContext, type FetchWebhooks, tixWebhooks } from 'tix-webhooks/fetch'
import type { AdapterHarness } from 'tix-webhooks/testing'
import type { Backends } from './backends.js'
import { control } from './control.js'
import { type Endpoints, endpointsWith } from './endpoints.js'
import { type LaneInbox, memoryInbox } from './lane-inbox.js'

/** The parts that only some runtimes have. */
export interface Parts {
  readonly laneInbox?: LaneInbox | undefined
  readonly backends?: Backends | undefined
}

/** The app for every host that takes a `Request`. */
export function fetchApp({ laneInbox = memoryInbox(), backends = {} }: Parts = {}) {
  const endpoints = mapped(
    endpointsWith(laneInbox, backends),
    (options) => tixWebhooks(options as never) as FetchWebhooks,
  )

  return async (request: Request, context?: FetchContext): Promise<Response> => {
    const { pathname } = new URL(request.url)
    // Some hosts mount the app below a path of theirs.
    const hooks = endpoints[pathname.split('/hooks/')[1] as keyof Endpoints]
    if (hooks) return hooks(request, context)
    const text = await control(pathname, { laneInbox, backends, endpoints, adapter })
    return new Response(text ?? 'Not found', { status: text === undefined ? 404 : 200 })
  }
}

const adapter: AdapterHarness = byRequest((options) => tixWebhooks(options as never) as FetchWebhooks)

/** The cases of adapters, by calls with a `Request`. */
export function byRequest(
  start: (
    options: Parameters<AdapterHarness['mount']>[0],
  ) => (request: Request) => Response | Promise<Response>,
): AdapterHarness {
  return {
    async mount(options) {
      const handle = start(options)
      return {
        async send({ toRequest }) {
          const response = await handle(toRequest('/hooks'))
          return { status: response.status, headers: response.headers, text: await response.text() }
        },
        close: async () => {},
      }
    },
  }
}

/** The same keys, with a value made from each. */
export function mapped<Key extends string, Value, Result>(
  values: Readonly<Record<Key, Value>>,
  make: (value: Value) => Result,
): Record<Key, Result> {
  return Object.fromEntries(
    Object.entries<Value>(values).map(([key, value]) => [key, make(value)]),
  ) as Record<Key, Result>
}
