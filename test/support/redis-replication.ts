import { Redis } from 'ioredis'
import { type RedisServer, startRedis } from './redis-server.js'
import { startProxy, type TcpProxy } from './tcp-proxy.js'

export interface ReplicatedRedis {
  readonly primary: RedisServer
  readonly replica: RedisServer
  /** The replica's connection to the primary goes through it. */
  readonly link: TcpProxy
  /** Lets the replica catch up with all writes. */
  reconnect(): Promise<void>
  stop(): Promise<void>
}

/** Starts a primary and a replica that has caught up with it. */
export async function startReplicatedRedis(): Promise<ReplicatedRedis> {
  const primary = await startRedis({ args: ['--repl-diskless-sync-delay', '0'] })
  const link = await startProxy({ port: primary.port })
  const replica = await startRedis({ args: ['--replicaof', '127.0.0.1', `${link.port}`] })
  const client = new Redis(primary.url)
  // Tests kill the primary.
  client.on('error', () => {})

  async function reconnect(): Promise<void> {
    await link.pass()
    await client.set('caught-up', 'yes')
    if ((await client.wait(1, 15_000)) !== 1) throw new Error('The replica does not follow')
  }

  async function stop(): Promise<void> {
    client.disconnect()
    await Promise.all([primary.stop(), replica.stop(), link.close()])
  }

  await reconnect()
  return { primary, replica, link, reconnect, stop }
}
