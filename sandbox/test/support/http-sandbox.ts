import { onTestFinished } from 'vitest'
import { checkDestination } from '../../engine/network/address-rules.js'
import type { OutgoingRequest, SendResult } from '../../engine/network/send.js'
import { type AppOptions, createApp } from '../../http/app.js'
import { describeApi } from '../../http/openapi/openapi.js'
import { type Assumptions, assume } from '../../service/assumptions.js'
import { Service, type ServiceParts } from '../../service/service.js'
import { contractOf } from './contract.js'

export const TEST_KEY = 'sk_test_a1b2c3d4'
export const LIVE_KEY = 'sk_live_w6x7y8z9'
export const BASE_URL = 'http://127.0.0.1:4010'
/** The frozen time: a Friday. */
export const NOW = '2026-11-20T11:24:00.000Z'

interface Call {
  /** null sends none. Default TEST_KEY. */
  key?: string | null
  headers?: Record<string, string>
  /** Sent as JSON. */
  body?: unknown
  /** Sent unchanged, instead of `body`. */
  raw?: BodyInit
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The JSON body, in the type that a test expects. */
  json<Body = Record<string, unknown>>(): Body
  /** The code of the error, in either form. */
  readonly code: string | undefined
}

export type HttpSandbox = ReturnType<typeof httpSandbox>

export interface HttpSandboxOptions
  extends Pick<ServiceParts, 'lenient' | 'timeoutSeconds' | 'signsVirtually'>,
    Partial<
      Pick<AppOptions, 'keys' | 'allowHosts' | 'rateLimit' | 'realNow' | 'wait' | 'url' | 'onRequest'>
    > {
  assume?: Readonly<Record<string, string>>
}

/** The status and the code of an error. */
export const told = ({ status, code }: Answer): (number | string | undefined)[] => [status, code]

export const answered = (status: number, headers: Record<string, string> = {}): SendResult => ({
  response: { status, headers, body: '', truncated: false },
})

/** The answer of a receiver of ours. */
export const answeredBy = (answer: { readonly status: number; readonly body: string }): SendResult => ({
  response: { ...answer, headers: {}, truncated: false },
})

const contracts = new Map<string, ReturnType<typeof contractOf>>()

/** The description under these assumptions. Cached, because making it takes longer than a test. */
export function contractWith(assumptions: Assumptions) {
  const key = JSON.stringify(assumptions)
  const contract = contracts.get(key) ?? contractOf(describeApi(assumptions, BASE_URL))
  contracts.set(key, contract)
  return contract
}

/** A service with its HTTP interface, whose time stands still, and whose endpoints answer as the test says. */
export function httpSandbox(options: HttpSandboxOptions = {}) {
  const sent: OutgoingRequest[] = []
  const warnings: string[] = []
  const failures: unknown[] = []
  let respond: (request: OutgoingRequest) => SendResult | Promise<SendResult> = () => answered(204)
  const url = options.url ?? (() => BASE_URL)
  const service = new Service({
    startMs: Date.parse(NOW),
    frozen: true,
    seed: 1,
    jitter: 0,
    assumptions: assume(options.assume),
    lenient: options.lenient,
    timeoutSeconds: options.timeoutSeconds,
    signsVirtually: options.signsVirtually,
    publicUrl: url,
    onError: (error) => failures.push(error),
    send: async (request) => {
      sent.push(request)
      return respond(request)
    },
  })
  onTestFinished(() => service.clock.close())
  const app = createApp(service, {
    checkUrl: checkDestination,
    folder: '/nowhere',
    ...options,
    url,
    reset: () => service.reset(),
    version: '1.2.3',
    onWarning: (message) => warnings.push(message),
    onError: (error) => failures.push(error),
  })
  const { checkAnswer } = contractWith(service.assumptions)

  /** Calls in process. Each answer of the API is checked against its description. */
  async function call(
    method: string,
    path: string,
    { key = TEST_KEY, headers = {}, body, raw }: Call = {},
  ): Promise<Answer> {
    const address = new URL(path, url())
    const isOfApi = /^\/v2(\/|$)/.test(address.pathname)
    const request = new Request(address, {
      method,
      headers: {
        ...(key !== null && isOfApi && { authorization: `bearer ${key}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(raw !== undefined && { body: raw, duplex: 'half' }),
    })
    const response = await app.fetch(request)
    const text = await response.text()
    const { status, headers: answered } = response
    if (isOfApi) checkAnswer({ method, path: address.pathname, status, headers: answered, body: text })
    return {
      status,
      headers: answered,
      text,
      json: () => JSON.parse(text),
      get code() {
        const { error, code } = JSON.parse(text)
        return error?.code ?? code
      },
    }
  }

  return {
    service,
    app,
    call,
    /** The JSON at this path. */
    read: async <Body = Record<string, unknown>>(path: string) => (await call('GET', path)).json<Body>(),
    /** The requests sent to endpoints. */
    sent: sent as readonly OutgoingRequest[],
    warnings,
    failures,
    /** Sets the answer of the endpoints from now on. Default 204. */
    answerWith(next: typeof respond) {
      respond = next
    },
  }
}

/** A valid body of `POST /v2/events`. */
export const EVENT = {
  title: 'Night of lights',
  venue: { name: 'Old mill' },
  doors_at: '2026-12-01T19:00:00+01:00',
  tickets: [
    { name: 'standing', price_cents: 2500, quantity: 10 },
    { name: 'seat', price_cents: 4000, quantity: 2 },
  ],
}

export type ApiFixture = ReturnType<typeof apiFixture>

/** An order of seats for a new event. */
interface Order {
  /** Default 1, of 2 seats. */
  quantity?: number
  /** Default true. */
  publish?: boolean
  /** Called before the order. */
  before?: (id: string) => Promise<unknown>
  /** Changed fields. */
  changes?: object
}

/** A sandbox, with shortcuts for the most frequent calls of the API tests. */
export function apiFixture(options: HttpSandboxOptions = {}) {
  const sandbox = httpSandbox(options)
  /** Creates an event: `EVENT` with these changes. */
  const create = async (changes: object = {}) =>
    (await createWith(sandbox, changes)).json<{ id: string; slug: string; tickets: { id: string }[] }>()
  /** Publishes, cancels or reschedules an event. */
  const act = (id: string, action: string, body?: object) =>
    sandbox.call('POST', `/v2/events/${id}/${action}`, { body })
  return {
    ...sandbox,
    create,
    act,
    async order({ quantity = 1, publish = true, before, changes = {} }: Order = {}) {
      const event = await create()
      if (publish) await act(event.id, 'publish')
      await before?.(event.id)
      const body = { event_id: event.id, ticket_tier_id: event.tickets[1]?.id, quantity, ...changes }
      return sandbox.call('POST', '/v2/sandbox/orders', { body })
    },
  }
}

/** Sends a request that creates an event: `EVENT` with these changes. */
export function createWith(sandbox: HttpSandbox, changes: object): Promise<Answer> {
  return sandbox.call('POST', '/v2/events', { body: { ...EVENT, ...changes } })
}

/** The URL of the fixture's endpoint. */
export const HOOKS = 'http://127.0.0.1:3000/hooks'

/** A delivery as the control API returns it, with the fields that tests use. */
interface DeliveryTold {
  id: string
  type: string
  status: string
  body: string
  attempts: { number: number; trigger: string; url: string }[]
}

/** A sandbox with an endpoint, and the control calls that tests of deliveries use. */
export function controlFixture(options?: HttpSandboxOptions) {
  const sandbox = httpSandbox(options)
  const endpoint = sandbox.service.engine.createEndpoint({ url: HOOKS, secret: 'whsec_a' })
  const list = async (query = '') =>
    (await sandbox.call('GET', `/_sandbox/deliveries${query}`)).json<{ data: DeliveryTold[] }>().data
  /** Triggers `order.created`, unless the body names another kind, and waits for the first answer. */
  const trigger = (body: object = {}) =>
    sandbox.call('POST', '/_sandbox/trigger', { body: { kind: 'order.created', wait: true, ...body } })
  const post = (path: string, body: object = {}) => sandbox.call('POST', `/_sandbox${path}`, { body })
  return { ...sandbox, endpoint, list, trigger, post }
}
