import type { Endpoint } from '../../engine/endpoint.js'
import { type Answer, type HttpSandbox, type HttpSandboxOptions, httpSandbox } from './http-sandbox.js'

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
export interface ControlFixture extends HttpSandbox {
  readonly endpoint: Endpoint
  list(query?: string): Promise<DeliveryTold[]>
  /** Triggers `order.created`, unless the body names another kind, and waits for the first answer. */
  trigger(body?: object): Promise<Answer>
  post(path: string, body?: object): Promise<Answer>
}

export function controlFixture(options?: HttpSandboxOptions): ControlFixture {
  const sandbox = httpSandbox(options)
  const endpoint = sandbox.service.engine.createEndpoint({ url: HOOKS, secret: 'whsec_a' })
  const list = async (query = '') =>
    (await sandbox.call('GET', `/_sandbox/deliveries${query}`)).json<{ data: DeliveryTold[] }>().data
  const trigger = (body: object = {}) =>
    sandbox.call('POST', '/_sandbox/trigger', { body: { kind: 'order.created', wait: true, ...body } })
  const post = (path: string, body: object = {}) => sandbox.call('POST', `/_sandbox${path}`, { body })
  return { ...sandbox, endpoint, list, trigger, post }
}
