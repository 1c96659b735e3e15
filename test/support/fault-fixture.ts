import { answerTo, type IdempotencyStore, type Inbox, type Outcome, type WebhookOptions } from 'tix-webhooks'
import { expect } from 'vitest'
import { WAIT_LIMIT_MS } from './patience.js'
import type { Place } from './proof-places.js'
import { receiving } from './receiving.js'
import { newOrder, type Order } from './running-apps.js'
import { startProxy } from './tcp-proxy.js'

/** The store or inbox of the receiver, through the proxy. */
export type Protection =
  | { readonly store: IdempotencyStore }
  | { readonly inbox: Inbox<unknown>; effect(order: string, tx: unknown): Promise<unknown> }

type Open = (place: {
  readonly url: string
  readonly place: string
}) => Promise<Protection & { close(): Promise<unknown> }>

/** A receiver, and a proxy between it and the server. It is never replaced: it has to recover by itself. */
export type FaultFixture = Awaited<ReturnType<typeof openFixture>>

interface FixtureOptions extends Pick<WebhookOptions, 'timeoutSeconds' | 'leaseSeconds'> {
  readonly place: Place
  readonly open: Open
}

/** A busy machine is late; a receiver that hangs is far later. */
const SLACK_MS = 10_000

export async function withFixture(
  options: FixtureOptions,
  play: (fixture: FaultFixture) => Promise<void>,
): Promise<void> {
  const fixture = await openFixture(options)
  try {
    // From here on there is a connection, and Redis has the scripts.
    const warmUp = await newOrder()
    expect(await fixture.send(warmUp)).toEqual({ outcome: 'handled' })
    expect(await fixture.send(warmUp)).toEqual({ outcome: 'duplicate' })
    await play(fixture)
  } finally {
    await fixture.close()
  }
}

async function openFixture({ place, open, timeoutSeconds = 2, ...more }: FixtureOptions) {
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

  const { receiver, records } = receiving({
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
    onError: (error) => void reports.push(String((error as { code?: string }).code)),
  })

  /** Delivers an order, and checks that it is answered in time, and with a valid outcome if it is not done. */
  async function send({ header, body }: Order): Promise<Outcome> {
    const outcome = await receiver.receive({ header, body, request: null })
    const { status, headers } = answerTo(outcome)
    if (status === 503) expect(Number(headers['retry-after'])).toBeGreaterThanOrEqual(1)
    else expect([200, 500]).toContain(status)
    expect(records.at(-1)?.durationMs).toBeLessThan(timeoutSeconds * 1000 + SLACK_MS)
    return outcome
  }

  /** Delivers it repeatedly, as a sender that skips every Retry-After, until the outcome matches. */
  async function until(order: Order, isEnd: (outcome: Outcome) => boolean): Promise<Outcome> {
    let last: Outcome | undefined
    for (const endMs = performance.now() + WAIT_LIMIT_MS; performance.now() < endMs; ) {
      const outcome = await send(order)
      if (isEnd(outcome)) return outcome
      last = outcome
    }
    throw new Error(`It had not ended after ${WAIT_LIMIT_MS / 1000} s, but was ${JSON.stringify(last)}`, {
      cause: last?.error,
    })
  }

  return {
    proxy,
    place,
    reports: reports as readonly string[],
    send,
    until,
    /** Delivers it until the answer is 200. */
    untilDone: (order: Order) => until(order, (outcome) => answerTo(outcome).status === 200),
    /** How often the handler had its effect. */
    effects: async ({ id }: Order) =>
      'inbox' in opened ? ((await place.effects()).get(id)?.length ?? 0) : (effects.get(id) ?? 0),
    /** How often the handler was called. */
    calls: ({ id }: Order) => calls.get(id) ?? 0,
    /** Sets the actions of the next handlers before their effect, or after it. */
    beforeEffect(act: () => Promise<unknown>) {
      before = act
    },
    afterEffect(act: () => Promise<unknown>) {
      after = act
    },
    /** Drains the receiver: every end still to be recorded is recorded or given up. */
    drain: () => receiver.drain(),
    /** Loses the reply to the n-th request from now on about this order. */
    loseReply({ id }: Order, n: number) {
      let seen = 0
      void proxy.cutAfterRequest((chunk) => chunk.includes(id) && ++seen === n)
    },
    async close() {
      await proxy.pass()
      await opened.close()
      await proxy.close()
    },
  }
}
