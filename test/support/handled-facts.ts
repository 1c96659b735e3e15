import type { HandledRecords, IdempotencyStore } from 'tix-webhooks'

/** A backend whose stores answer `isHandled`. It runs inside workerd too. */
interface Backend {
  create(): Promise<IdempotencyStore & HandledRecords>
  /** Advances the clock of all records. */
  advance(ms: number): Promise<void>
}

const HOUR_MS = 3_600_000

/** The answers of `isHandled` for a store's records. */
export const HANDLED_FACTS: object = {
  unknown: false,
  running: false,
  'with a lease that ran out': false,
  released: false,
  'claimed again': false,
  'handled at the second run': true,
  handled: true,
  'handled, without a claim': true,
  'in capitals': false,
  'a part of the key': false,
  'a pattern for the key': false,
  'shortly before the end of its retention': true,
  'after its retention': false,
  'of thirty at once': Array.from({ length: 30 }, (_, i) => i % 3 === 0),
}

/** Writes records through one client, and asks another. */
export async function handledFacts({ create, advance }: Backend): Promise<object> {
  const [store, other] = [await create(), await create()]
  const claim = (key: string, token: string) =>
    store.claim({ key, token, leaseMs: HOUR_MS, retainMs: 9 * HOUR_MS })
  const facts: Record<string, unknown> = {}
  const ask = async (fact: string, key: string): Promise<void> => {
    facts[fact] = await other.isHandled(key)
  }

  await ask('unknown', 'order/1')
  await claim('order/1', 'a')
  await ask('running', 'order/1')
  await advance(2 * HOUR_MS)
  await ask('with a lease that ran out', 'order/1')
  await store.release({ key: 'order/1', token: 'a' })
  await ask('released', 'order/1')
  await claim('order/1', 'b')
  await ask('claimed again', 'order/1')
  await store.complete({ key: 'order/1', token: 'b' }, 9 * HOUR_MS)
  await ask('handled at the second run', 'order/1')

  await claim('order/2', 'c')
  await store.complete({ key: 'order/2', token: 'c' }, 2 * HOUR_MS)
  await ask('handled', 'order/2')
  await store.complete({ key: 'order/3', token: 'd' }, HOUR_MS)
  await ask('handled, without a claim', 'order/3')
  await ask('in capitals', 'ORDER/2')
  await ask('a part of the key', 'order/')
  await ask('a pattern for the key', 'order%')
  await advance(HOUR_MS * 1.9)
  await ask('shortly before the end of its retention', 'order/2')
  await advance(HOUR_MS * 0.2)
  await ask('after its retention', 'order/2')

  const keys = Array.from({ length: 30 }, (_, i) => `many/${i}`)
  await Promise.all(
    keys.map(async (key, i) => {
      await claim(key, 'e')
      if (i % 3 === 0) await store.complete({ key, token: 'e' }, HOUR_MS)
      if (i % 3 === 1) await store.release({ key, token: 'e' })
    }),
  )
  facts['of thirty at once'] = await Promise.all(keys.map((key) => other.isHandled(key)))
  return facts
}
