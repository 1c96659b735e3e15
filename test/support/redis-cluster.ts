import { setTimeout as pause } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { freePort } from './free-port.js'
import { type RedisServer, startRedis } from './redis-server.js'

const SLOTS = 16_384
const FORMED_WITHIN_MS = 30_000

export interface RedisCluster {
  readonly nodes: readonly RedisServer[]
  stop(): Promise<void>
}

/** Starts a cluster of primaries without replicas, each with its share of the slots, and waits until all of them agree. */
export async function startRedisCluster(size: number): Promise<RedisCluster> {
  const busPorts = await Promise.all(Array.from({ length: size }, freePort))
  const nodes = await Promise.all(
    busPorts.map((busPort) =>
      startRedis({
        args: ['--cluster-enabled', 'yes', '--cluster-port', `${busPort}`, '--cluster-node-timeout', '30000'],
      }),
    ),
  )
  const stop = async (): Promise<void> => {
    await Promise.all(nodes.map((node) => node.stop()))
  }
  const clients = nodes.map(({ url }) => new Redis(url))
  try {
    for (const [i, client] of clients.entries()) {
      const first = Math.floor((i * SLOTS) / size)
      const last = Math.floor(((i + 1) * SLOTS) / size) - 1
      await client.call('CLUSTER', 'ADDSLOTSRANGE', first, last)
      await client.call('CLUSTER', 'SET-CONFIG-EPOCH', i + 1)
      if (i > 0) await client.call('CLUSTER', 'MEET', '127.0.0.1', `${nodes[0]?.port}`, `${busPorts[0]}`)
    }
    const deadline = performance.now() + FORMED_WITHIN_MS
    while (!(await areAgreed(clients))) {
      if (performance.now() > deadline) throw new Error('The cluster has not formed')
      await pause(20)
    }
  } catch (error) {
    await stop()
    throw error
  } finally {
    for (const client of clients) client.disconnect()
  }
  return { nodes, stop }
}

/** Gossip takes its time: the only way is to ask each of them. */
async function areAgreed(clients: readonly Redis[]): Promise<boolean> {
  const infos = await Promise.all(clients.map((client) => client.call('CLUSTER', 'INFO')))
  return infos.every((info) => {
    const text = String(info)
    return text.includes('cluster_state:ok') && text.includes(`cluster_known_nodes:${clients.length}`)
  })
}
