import type { IdempotencyStore } from 'tix-webhooks'
import { expect } from 'vitest'
import { type StoreAnswer, type StoreCall, send } from '../../testing/store-cases/transition.js'
import { assertLinearizable, describeCalls } from './linearizable.js'
import { turns } from './promises.js'
import { RACES, type Track } from './race-cases.js'
import { runs } from './runs.js'
import type { PurgingStore, StoreBackend } from './store-backend.js'
import {
  callsOf,
  createHistory,
  freshKey,
  PAST_LEASE,
  PAST_RETENTION,
  randomHistories,
} from './store-history.js'

/** A row of a test table: `test.each(raceCases(backend))('%s', (_name, run) => run())`. */
export type RaceCase = readonly [name: string, run: () => Promise<void>]

const CLIENTS = 3
/** Each race runs on this many keys, one after another. */
const ROUNDS = runs(4)

/** The races for every store, on separate keys. The three clients, which the backend closes, are made when the first race runs. */
export function raceCases(
  backend: StoreBackend,
  { histories = runs(100), rounds = ROUNDS } = {},
): readonly RaceCase[] {
  const open = opener(backend)

  const races = Object.entries(RACES).map(
    ([name, race]): RaceCase => [
      name,
      async () => {
        const clients = await open()
        for (let round = 0; round < rounds; round++) await runOn(clients, backend, race)
      },
    ],
  )

  const random = [false, true].map(
    (isLossy): RaceCase => [
      `${histories} random histories ${isLossy ? 'with late calls and lost replies ' : ''}are linearizable`,
      async () => {
        const seed = Math.floor(Math.random() * 2 ** 31)
        const played = await randomHistories(await open(), backend, { count: histories, isLossy, seed })
        for (const { calls, failures } of played) {
          expect(failures).toEqual([])
          assertLinearizable(calls, `seed ${seed}`)
        }
      },
    ],
  )
  return [...races, ...random]
}

/** Makes the clients on first use. */
function opener<Store extends IdempotencyStore>(backend: StoreBackend<Store>): () => Promise<Store[]> {
  let opened: Promise<Store[]> | undefined
  return () => {
    opened ??= Promise.all(Array.from({ length: CLIENTS }, () => backend.create()))
    return opened
  }
}

async function runOn(
  clients: readonly IdempotencyStore[],
  { advance }: StoreBackend,
  race: (track: Track) => Promise<void>,
): Promise<void> {
  const key = freshKey()
  const { calls, failures, record } = createHistory()
  let sent = 0
  const deliver = (call: StoreCall): Promise<StoreAnswer | undefined> => {
    const client = clients[sent++ % clients.length] as IdempotencyStore
    return record(call, () => send(client, { ...call, key }))
  }
  const track: Track = {
    async call(...all) {
      let answer: StoreAnswer | undefined
      for (const call of all) answer = await deliver(call)
      return answer
    },
    together: (all) => Promise.all(all.map(deliver)),
    advance: async (ms) => {
      await record({ do: 'advance', ms }, () => advance(ms).then(() => undefined))
    },
  }
  try {
    await race(track)
  } catch (error) {
    expect(failures).toEqual([])
    throw new Error(`${(error as Error).message}\n${describeCalls(calls)}`, { cause: error })
  }
  expect(failures).toEqual([])
  assertLinearizable(calls, key)
}

const PURGE_ROUNDS = runs(4)
const PURGED_KEYS = 300

/** The races of a store that deletes records past their retention. They first make the backend forget all its records. */
export function purgeRaces(
  backend: StoreBackend<PurgingStore>,
  { rounds = PURGE_ROUNDS } = {},
): readonly RaceCase[] {
  const open = opener(backend)
  const mine = callsOf('mine')
  const other = callsOf('other')

  /** Keys in each of the three states. */
  async function fill(clients: readonly PurgingStore[]): Promise<string[]> {
    const keys = Array.from({ length: PURGED_KEYS }, freshKey)
    const ends = [undefined, mine.complete, mine.release]
    await spread(clients, keys, async (client, key, index) => {
      await send(client, { ...mine.claim, key })
      const end = ends[index % ends.length]
      if (end !== undefined) await send(client, { ...end, key })
    })
    return keys
  }

  return [
    [
      'claims of expired keys that race purges are granted, and stay granted',
      async () => {
        const clients = await open()
        for (let round = 0; round < rounds; round++) {
          const keys = await fill(clients)
          await backend.advance(PAST_RETENTION)
          // The youngest first, which a purge reaches last: long after it read them as expired.
          const reversed = [...keys].reverse()
          const claims = spread(clients, reversed, (client, key) => send(client, { ...other.claim, key }))
          const storm = clients.map((client) => purgeUntil(client, claims))
          expect(await claims).toEqual(keys.map(() => ({ status: 'claimed', attempt: 1 })))
          await Promise.all(storm)
          const renewed = await spread(clients, keys, (client, key) => send(client, { ...other.renew, key }))
          expect(keys.filter((_, index) => renewed[index] !== true)).toEqual([])
        }
      },
    ],
    [
      'purges that race calls on live keys delete none of them',
      async () => {
        const clients = await open()
        const keys = await fill(clients)
        await backend.advance(PAST_LEASE)
        const calls = spread(clients, keys, (client, key) => send(client, { ...other.claim, key }))
        const storm = clients.map((client) => purgeUntil(client, calls))
        const expected = [{ status: 'claimed', attempt: 2 }, { status: 'completed' }]
        expect(await calls).toEqual(keys.map((_, index) => expected[index % 3] ?? expected[0]))
        await Promise.all(storm)
      },
    ],
    [
      'purges that race one another delete each expired record once',
      async () => {
        const clients = await open()
        await backend.advance(100 * PAST_RETENTION)
        await purgeAll(clients)
        await fill(clients)
        await backend.advance(PAST_RETENTION)
        expect(await purgeAll(clients)).toBe(PURGED_KEYS)
      },
    ],
  ]
}

const PURGE_LIMIT = 100

async function purge(client: PurgingStore): Promise<number> {
  const count = await client.purge({ limit: PURGE_LIMIT })
  expect(count).toBeGreaterThanOrEqual(0)
  expect(count).toBeLessThanOrEqual(PURGE_LIMIT)
  return count
}

async function purgeUntil(client: PurgingStore, work: Promise<unknown>): Promise<void> {
  let isOver = false
  const over = () => {
    isOver = true
  }
  work.then(over, over)
  while (!isOver) {
    await purge(client)
    // A synchronous store would let nothing else run.
    await turns(1)
  }
}

/** A purge may skip rows that another one has locked, so it is over when one that runs alone finds nothing. */
async function purgeAll(clients: readonly PurgingStore[]): Promise<number> {
  let total = 0
  for (let last = 1; last > 0; total += last) {
    const counts = await Promise.all(clients.map(purge))
    last = counts.reduce((sum, count) => sum + count, 0)
    if (last === 0 && clients[0] !== undefined) last = await purge(clients[0])
  }
  return total
}

const WORKERS = 12

/** Does some work for each key, twelve at a time. */
async function spread<Client, T>(
  clients: readonly Client[],
  keys: readonly string[],
  work: (client: Client, key: string, index: number) => T | Promise<T>,
): Promise<T[]> {
  const results: T[] = []
  const waiting = [...keys.entries()]
  const workers = Array.from({ length: WORKERS }, async (_, worker) => {
    const client = clients[worker % clients.length] as Client
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const [index, key] = next
      results[index] = await work(client, key, index)
    }
  })
  await Promise.all(workers)
  return results
}
