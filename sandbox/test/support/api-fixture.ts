import { type Answer, EVENT, type HttpSandbox, type HttpSandboxOptions, httpSandbox } from './http-sandbox.js'

/** A sandbox, with shortcuts for the most frequent calls of the API tests. */
export interface ApiFixture extends HttpSandbox {
  /** Creates an event: `EVENT` with these changes. */
  create(changes?: object): Promise<{ id: string; slug: string; tickets: { id: string }[] }>
  /** Publishes, cancels or reschedules an event. */
  act(id: string, action: string, body?: object): Promise<Answer>
  order(order?: Order): Promise<Answer>
}

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

export function apiFixture(options: HttpSandboxOptions = {}): ApiFixture {
  const sandbox = httpSandbox(options)
  const create: ApiFixture['create'] = async (changes = {}) => (await createWith(sandbox, changes)).json()
  const act: ApiFixture['act'] = (id, action, body) =>
    sandbox.call('POST', `/v2/events/${id}/${action}`, { body })
  return {
    ...sandbox,
    create,
    act,
    async order({ quantity = 1, publish = true, before, changes = {} } = {}) {
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
