import { Redis } from 'ioredis'
import { redisStore } from 'tix-webhooks/redis'
import type { Bench } from '../support/bench.js'
import { keyOf, RETAIN_MS, throughStore } from './contender.js'
import type { Counts, Full } from './full.js'

const COPY = `for n = ARGV[1], ARGV[2] do
  redis.call('RESTORE', string.format('%s%010d', ARGV[3], n), ARGV[4], ARGV[5])
end`
const STEP = 10_000

/** Databases of one server: each has its own table of keys. */
const FEW = 2
const MANY = 3
const BY_HAND = 4

export async function fullRedis(bench: Bench, { few, many }: Counts): Promise<Full> {
  bench.progress(`Redis: ${many} events`)
  const { port } = await bench.redis()
  const open = (db: number) => new Redis({ host: '127.0.0.1', port, db })
  const [small, large, byHand] = [open(FEW), open(MANY), open(BY_HAND)]
  const [fewStore, manyStore] = [redisStore(small), redisStore(large)]
  await throughStore('redisStore', fewStore).deliver(keyOf(0))
  await throughStore('redisStore', manyStore).deliver(keyOf(0))
  await byHand.set(keyOf(0), 'done', 'PX', RETAIN_MS)
  await copyTheOne(small, few)
  const bytes = await copyTheOne(large, many)
  const bytesByHand = await copyTheOne(byHand, many)
  await byHand.flushdb()
  byHand.disconnect()
  return {
    name: 'redisStore, ioredis',
    few: fewStore,
    many: manyStore,
    sizes: [
      { what: 'redisStore', bytesPerEvent: bytes / many },
      { what: 'Redis by hand: SET PX', bytesPerEvent: bytesByHand / many },
    ],
    async close() {
      await small.flushdb()
      await large.flushdb()
      small.disconnect()
      large.disconnect()
    },
  }
}

/** Copies the only record in the database, and returns the memory that the copies take. */
async function copyTheOne(client: Redis, count: number): Promise<number> {
  const key = String(await client.randomkey())
  const record = await client.dumpBuffer(key)
  const before = await usedMemory(client)
  for (let from = 1; from <= count; from += STEP) {
    const to = Math.min(count, from + STEP - 1)
    await client.eval(COPY, 0, from, to, key.slice(0, -10), RETAIN_MS, record as Buffer)
  }
  return (await usedMemory(client)) - before
}

async function usedMemory(client: Redis): Promise<number> {
  return Number(/^used_memory:(\d+)/m.exec(await client.info('memory'))?.[1])
}
