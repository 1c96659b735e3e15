import { makeScenario, type ScenarioName, sampleEvent } from 'tix-webhooks/testing'
import type { Account } from '../../domain/account.js'
import type { Mode } from '../../domain/mode.js'
import { Refusal } from '../../domain/refusal.js'
import type { WebhookKind } from '../../domain/resources.js'
import type { Attempt, Delivery, Message } from '../../engine/record/records.js'
import { isWholeWithin } from '../../lib/numbers.js'
import { CLOSED, type Emission, type Service } from '../service.js'
import { readCaptured } from './captured-event.js'
import { checkDepth } from './check-depth.js'
import { withChanges } from './payload-changes.js'
import { passes } from './scenario-verdicts.js'

/** How the webhooks of a trigger differ from a usual one. */
export interface TriggerOptions {
  /** Values of the payload that differ: paths such as `data.order.total_cents`. A path that is not there is refused. */
  set?: Readonly<Record<string, unknown>>
  /** `data` as it is: nothing is made in the account. */
  data?: Readonly<Record<string, unknown>>
  /** The body of a webhook that was captured, exactly as it came: it is signed and sent as it is, and nothing is made in the account. */
  event?: string
  /** Also sends the webhooks of what had to be made first: `event.published` before `event.cancelled`. Default false. */
  chain?: boolean
  /** A deliberate fault or another scenario, by its name. */
  scenario?: ScenarioName | (string & {})
  /** How many, up to 1,000. Default 1. */
  repeat?: number
  /** Default `test`. */
  mode?: Mode
}

/** Their names: a misspelt `scenario` would send a genuine webhook. */
export const TRIGGER_OPTIONS: readonly (keyof TriggerOptions)[] = [
  'set',
  'data',
  'event',
  'chain',
  'scenario',
  'repeat',
  'mode',
]

/** A request to send webhooks. */
export interface TriggerRequest extends TriggerOptions {
  /** A kind. One that the service does not document needs `data`. Default: that of `event`. */
  kind?: string
}

/** The result of a trigger. */
export interface Triggered {
  /** The ids of the messages, in their order. */
  readonly messages: readonly string[]
  /** The ids of their deliveries. */
  readonly deliveries: readonly string[]
  /** The attempts so far. */
  readonly attempts: readonly Attempt[]
}

const MAX_REPEAT = 1000
const DAY_MS = 86_400_000

/** The actions in an account whose last webhook is of the kind. */
const STEPS: { readonly [Kind in WebhookKind]: (account: Account, nowMs: number) => void } = {
  'order.created': (account, nowMs) => {
    const { id, tickets } = published(account, nowMs)
    account.createOrder({ event_id: id, ticket_tier_id: tickets[0]?.id, quantity: 2 })
  },
  'event.published': published,
  'event.cancelled': (account, nowMs) => {
    account.cancelEvent(published(account, nowMs).id)
  },
  'event.rescheduled': (account, nowMs) => {
    account.rescheduleEvent(published(account, nowMs).id, { doors_at: doors(nowMs + 37 * DAY_MS) })
  },
}

/**
 * Makes what the kind is about, so that the API knows it afterwards, and sends the webhook of that kind alone.
 *
 * @throws Refusal if the request is invalid; then nothing was made, and nothing sent
 * @throws Error if the service is closed
 */
export async function trigger(service: Service, request: TriggerRequest): Promise<Triggered> {
  if (service.closing.aborted) throw new Error(CLOSED)
  const { scenario, repeat = 1 } = request
  if (!isWholeWithin(repeat, 1, MAX_REPEAT)) {
    throw new Refusal({
      code: 'parameter_invalid',
      param: 'repeat',
      message: `repeat must be a whole number from 1 to ${MAX_REPEAT}.`,
    })
  }
  await rehearse(request)
  const emissions = Array.from({ length: repeat }, () => emissionsOf(service, request)).flat()
  return scenario === undefined
    ? send(service, emissions)
    : sendScenario(service, emissions, request, scenario)
}

function send({ engine }: Service, emissions: readonly Emission[]): Triggered {
  const messages = emissions.map((emission) => engine.publish(emission))
  const deliveries = messages.flatMap((message) => engine.deliveriesOf(message))
  return { messages: messages.map(({ id }) => id), deliveries: deliveries.map(({ id }) => id), attempts: [] }
}

/** Sends the requests of a scenario to each endpoint: as an attacker or a bad network would change the webhook. */
async function sendScenario(
  service: Service,
  emissions: readonly Emission[],
  request: TriggerRequest,
  name: string,
): Promise<Triggered> {
  const { engine, signature, signingNow } = service
  const { inFlight } = engine
  const messages: Message[] = []
  const deliveries: Delivery[] = []
  for (const emission of emissions) {
    // A reset also drops what is still to be sent.
    if (inFlight.aborted) break
    const message = engine.createMessage(emission)
    messages.push(message)
    for (const { id, secrets } of engine.subscribersOf(message).filter(({ enabled }) => enabled)) {
      if (inFlight.aborted) break
      const { deliveries: requests, isBurst } = await makeScenario(name, {
        body: bodies(message, () => engine.createMessage(lastOf(emissionsOf(service, request)))),
        secret: secrets,
        signature,
        now: signingNow,
      })
      deliveries.push(
        await engine.deliverScenario(id, message, {
          scenario: name,
          requests,
          atOnce: isBurst,
          passes: (attempts) => passes(name, attempts, message),
        }),
      )
    }
  }
  return {
    messages: messages.map(({ id }) => id),
    deliveries: deliveries.map(({ id }) => id),
    attempts: deliveries.flatMap(({ attempts }) => attempts),
  }
}

/** Returns the body of the first message, then of a new one for each further event of the scenario. */
function bodies(first: Message, another: () => Message): () => string {
  let next: Message | undefined = first
  return () => {
    const { body } = next ?? another()
    next = undefined
    return body
  }
}

/** Does it all with a sample, so that what is refused has made nothing. */
async function rehearse(request: TriggerRequest): Promise<void> {
  checkDepth('data', request.data)
  checkDepth('set', request.set)
  const body = request.event === undefined ? sampleBody(request) : readCaptured(request.event, request).body
  const { scenario } = request
  if (scenario === undefined) return
  try {
    await makeScenario(scenario, { body, secret: 'rehearsal' })
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    throw new Refusal({ code: 'parameter_invalid', param: 'scenario', message: error.message })
  }
}

function sampleBody({ kind, data, set = {} }: TriggerRequest): string {
  if (kind === undefined) {
    throw new Refusal({
      code: 'parameter_missing',
      param: 'kind',
      message: 'Give a kind, or a captured event.',
    })
  }
  const sample = withChanges(data === undefined ? sampleOf(kind) : { type: kind, data }, set)
  return JSON.stringify({ created_at: new Date(0), ...sample })
}

/** A payload with the fields that one of the kind will have. */
function sampleOf(kind: string): { type: string; data: object } {
  if (kind === 'order.created') return sampleEvent(kind, { data: { tickets: [{}, {}] } })
  if (Object.hasOwn(STEPS, kind)) return sampleEvent(kind as WebhookKind)
  throw new Refusal({
    code: 'parameter_missing',
    param: 'data',
    message: `The service sends ${Object.keys(STEPS).join(', ')}. For ${JSON.stringify(kind)}, which it does not document, pass the data.`,
  })
}

function emissionsOf(service: Service, request: TriggerRequest): readonly Emission[] {
  const { kind = '', set = {}, data, event, chain = false, mode = 'test' } = request
  if (event !== undefined) return [{ mode, ...readCaptured(event, request) }]
  if (data !== undefined) return [withChanges({ mode, type: kind, data }, set)]
  const account = service.accounts[mode]
  const before = service.clock.now()
  const { emissions } = service.capture(() => STEPS[kind as WebhookKind](account, before))
  const asked = withChanges(lastOf(emissions), set)
  return [...(chain ? emissions.slice(0, -1) : []), asked]
}

/** The webhook that was asked for; those before it come from its preparation. */
function lastOf(emissions: readonly Emission[]): Emission {
  return emissions.at(-1) as Emission
}

/** An event on sale, a month from now. */
function published(account: Account, nowMs: number): ReturnType<Account['retrieveWithTickets']> {
  const { id, tickets } = account.createEvent({
    title: 'Harbour Jazz',
    venue_id: account.listVenues({ limit: '1' }).data[0]?.id,
    doors_at: doors(nowMs + 30 * DAY_MS),
    tickets: [
      { name: 'general admission', price_cents: 2700, quantity: 100 },
      { name: 'balcony', price_cents: 3900, quantity: 20 },
    ],
  })
  return { ...account.publishEvent(id), tickets }
}

/** Half past seven in the evening of that day. */
function doors(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 'YYYY-MM-DD'.length)}T19:30:00+00:00`
}
