import { createHmac } from 'node:crypto'
import { SECRET } from '../../../test/support/deliveries.js'
import type { EndpointInput } from '../../engine/endpoint.js'
import { Engine } from '../../engine/engine.js'
import type { EngineParts, SandboxChange } from '../../engine/engine-parts.js'
import { inProcessSender } from '../../engine/network/in-process-sender.js'
import type { Delivery } from '../../engine/record/records.js'
import { Random } from '../../lib/random.js'
import { VirtualClock } from '../../time/clock.js'

/** The start of virtual time: far from the real time, so that a mix-up of the two is noticed. */
export const START_MS = Date.parse('2031-03-01T09:00:00Z')

/** A request to the receiver. */
export interface Received {
  readonly url: string
  readonly body: string
  readonly header: string
  readonly headers: Readonly<Record<string, string>>
  /** In virtual time. */
  readonly atMs: number
}

/** An answer: only a status, or a whole response, or a promise of one. */
export type FixtureAnswer = number | Response | Promise<Response | number>

export interface EngineFixtureOptions extends Partial<Omit<EngineParts, 'clock' | 'random'>> {
  /** The receiver's answer; requests are counted from 1. Default 200. */
  answer?: (received: Received, count: number) => FixtureAnswer
  /** Default: one for everything, with the tests' secret. */
  endpoints?: readonly EndpointInput[]
  seed?: number
}

/** An engine whose time stands still, with a receiver in this process. */
export function engineFixture({
  answer = () => 200,
  endpoints,
  seed = 1,
  ...parts
}: EngineFixtureOptions = {}) {
  const errors: unknown[] = []
  const received: Received[] = []
  const changes: SandboxChange[] = []
  const clock = new VirtualClock({ startMs: START_MS, frozen: true, onError: (error) => errors.push(error) })
  const send = inProcessSender(async (request) => {
    const headers = Object.fromEntries(request.headers)
    const header = headers['x-service-signature'] ?? ''
    const one = { url: request.url, body: await request.text(), header, headers, atMs: clock.now() }
    received.push(one)
    const answered = await answer(one, received.length)
    return typeof answered === 'number' ? new Response(null, { status: answered }) : answered
  })
  const onChange = (change: SandboxChange) => void changes.push(change)
  const make = () => new Engine({ clock, random: new Random(seed), send, onChange, ...parts })
  const engine = make()
  const inputs = endpoints ?? [{ url: 'http://localhost:3000/hooks', secret: SECRET }]
  const [first] = inputs.map((input) => engine.createEndpoint(input))
  return {
    engine,
    clock,
    received,
    changes,
    errors,
    /** The id of the first endpoint. */
    endpointId: first?.id ?? '',
    /** Another engine on the same clock, as after a restart. */
    make,
    /** Publishes an event, and returns the id of its first delivery. */
    publish(type = 'event.published', data: unknown = { event: { id: 'evt_1' } }): string {
      return engine.deliveriesOf(engine.publish({ mode: 'test', type, data }))[0]?.id ?? ''
    },
    /** Sends a scenario of one request to the first endpoint. It passes, whatever the answer is. */
    sendScenario(scenario: string): Promise<Delivery> {
      const message = engine.createMessage({ mode: 'test', type: 'event.published', data: {} })
      const requests = [{ body: '{}', headers: {} }]
      return engine.deliverScenario(first?.id ?? '', message, { passes: () => true, scenario, requests })
    },
    /** The current state of a delivery. */
    at(id: string): Delivery {
      const delivery = engine.delivery(id)
      if (delivery === undefined) throw new Error(`There is no delivery ${id}.`)
      return delivery
    },
  }
}

/** The times of its attempts, in seconds after the first was due. */
export function offsetsOf({ attempts, firstAtMs }: Delivery): number[] {
  return attempts.map(({ virtualMs }) => (virtualMs - firstAtMs) / 1000)
}

/** A verifier of five lines that shares nothing with ours: the rules of the service's document and of common practice. */
export function verifiesPlainly(body: string, header: string, secrets: readonly string[]): boolean {
  const [t = '', ...signatures] = header.split(',')
  const signed = `${t.slice('t='.length)}.${body}`
  const expected = secrets.map((secret) => `v1=${createHmac('sha256', secret).update(signed).digest('hex')}`)
  return /^t=\d{10}$/.test(t) && expected.join() === signatures.join()
}
