import { answerTo, type IdempotencyStore, type Inbox, type Outcome, type WebhookOptions } from 'tix-webhooks'
import { expect } from 'vitest'
import type { Place } from './proof-places.js'
import { receiving } from './receiving.js'
import { newOrder, type Order } from './running-apps.js'
import { startProxy, type TcpProxy } from './tcp-proxy.js'

/** The store or inbox of the receiver, through the proxy. */
export type Protection =
  | { readonly store: IdempotencyStore }
  | { readonly inbox: Inbox<unknown>; effect(order: string, tx: unknown): Promise<unknown> }

type Open = (place: {
  readonly url: string
  readonly place: string
}) => Promise<Protection & { close(): Promise<unknown> }>

/** A receiver, and a proxy between it and the server. It is never replaced: it has to recover by itself. */
export interface FaultFixture {
  readonly proxy: TcpProxy
  readonly place: Place
  /** Delivers an order, and checks that it is answered in time, and with a valid outcome if it is not done. */
  send(order: Order): Promise<Outcome>
  /** Delivers it repeatedly, as a sender that skips every Retry-After, until the outcome matches. */
  until(order: Order, isEnd: (outcome: Outcome) => boolean): Promise<Outcome>
  /** Delivers it until the answer is 200. */
  untilDone(order: Order): Promise<Outcome>
  /** How often the handler had its effect. */
  effects(order: Order): Promise<number>
  /** How often the handler was called. */
  calls(order: Order): number
  /** Sets the actions of the next handlers before their effect, or after it. */
  beforeEffect(act: () => Promise<unknown>): void
  afterEffect(act: () => Promise<unknown>): void
  readonly reports: readonly string[]
  /** Drains the receiver: every end still to be recorded is recorded or given up. */
  drain(): Promise<void>
  /** Loses the reply to the n-th request from now on about this order. */
  loseReply(order: Order, n: number): void
}

interface FixtureOptions extends Pick<WebhookOptions, 'timeoutSeconds' | 'leaseSeconds'> {
  readonly place: Place
  readonly open: Open
}

/** A busy machine is late; a receiver that hangs is far later. */
const SLACK_MS = 10_000
const TRIES = 20_000

export async function withFixture(
  { place, open, timeoutSeconds = 2, ...more }: FixtureOptions,
  play: (fixture: FaultFixture) => Promise<void>,
): Promise<void> {
  const url = new URL(place.url)
  const proxy = await startProxy({ host: url.hostname, port: Number(url.port) })
  url.host = `127.0.0.1:${proxy.port}`
  const opened = await open({ url: url.href, place: place.place })

  const calls = new Map<string, number>()
  const effects = new Map<string, number>()
  const count = (of: Map<string, number>, id: string): void => void of.set(id, (of.get(id) ?? 0) + 1)
  let before: () => Promise<unknown> = async () => {}
  let after = before
  const reports: string[] = []

  const receiver = receiving({
    ...('store' in opened ? { store: opened.store } : { inbox: opened.inbox as Inbox<undefined> }),
    namespace: 'proof',
    timeoutSeconds,
    ...more,
    on: {
      'order.created': async (event, ctx) => {
        const { id } = event.data.order
        count(calls, id)
        await before()
        if ('inbox' in opened) await opened.effect(id, ctx.tx)
        else count(effects, id)
        await after()
      },
    },
    onError(error) {
      reports.push(String((error as { code?: string }).code))
    },
  })

  const fixture: FaultFixture = {
    proxy,
    place,
    reports,
    async send({ header, body }) {
      const outcome = await receiver.receiver.receive({ header, body, request: null })
      const { status, headers } = answerTo(outcome)
      if (status === 503) expect(Number(headers['retry-after'])).toBeGreaterThanOrEqual(1)
      else expect([200, 500]).toContain(status)
      expect(receiver.records.at(-1)?.durationMs).toBeLessThan(timeoutSeconds * 1000 + SLACK_MS)
      return outcome
    },
    async until(order, isEnd) {
      let last: Outcome | undefined
      for (let i = 0; i < TRIES; i++) {
        const outcome = await fixture.send(order)
        if (isEnd(outcome)) return outcome
        last = outcome
      }
      throw new Error(`It had not ended after ${TRIES} tries, but was ${JSON.stringify(last)}`, {
        cause: last?.error,
      })
    },
    untilDone: (order) => fixture.until(order, (outcome) => answerTo(outcome).status === 200),
    effects: async ({ id }) =>
      'inbox' in opened ? ((await place.effects()).get(id)?.length ?? 0) : (effects.get(id) ?? 0),
    calls: ({ id }) => calls.get(id) ?? 0,
    beforeEffect(act) {
      before = act
    },
    afterEffect(act) {
      after = act
    },
    drain: () => receiver.receiver.drain(),
    loseReply({ id }, n) {
      let seen = 0
      void proxy.cutAfterRequest((chunk) => chunk.includes(id) && ++seen === n)
    },
  }

  try {
    // From here on there is a connection, and Redis has the scripts.
    const warmUp = await newOrder()
    expect(await fixture.send(warmUp)).toEqual({ outcome: 'handled' })
    expect(await fixture.send(warmUp)).toEqual({ outcome: 'duplicate' })
    await play(fixture)
  } finally {
    await proxy.pass()
    await opened.close()
    await proxy.close()
  }
}
