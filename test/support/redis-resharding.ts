import { Redis } from 'ioredis'

/** Moves the slot of a key, with all its records, from the node that has it to another. */
export async function moveSlot(
  nodes: readonly { readonly url: string; readonly port: number }[],
  key: string,
): Promise<{ moved: number }> {
  const clients = nodes.map(({ url }) => new Redis(url))
  try {
    const slot = Number(await clients[0]?.call('CLUSTER', 'KEYSLOT', key))
    const counts = await Promise.all(
      clients.map(async (client) => Number(await client.call('CLUSTER', 'COUNTKEYSINSLOT', slot))),
    )
    const from = counts.findIndex((count) => count > 0)
    const to = (from + 1) % nodes.length
    const [source, target] = [clients[from] as Redis, clients[to] as Redis]
    const [sourceId, targetId] = await Promise.all(
      [source, target].map(async (client) => String(await client.call('CLUSTER', 'MYID'))),
    )
    await target.call('CLUSTER', 'SETSLOT', slot, 'IMPORTING', `${sourceId}`)
    await source.call('CLUSTER', 'SETSLOT', slot, 'MIGRATING', `${targetId}`)
    let moved = 0
    for (;;) {
      // One at a time: for as long as possible, the slot is on both.
      const keys = (await source.call('CLUSTER', 'GETKEYSINSLOT', slot, 1)) as string[]
      if (keys.length === 0) break
      await source.call('MIGRATE', '127.0.0.1', `${nodes[to]?.port}`, '', 0, 5_000, 'KEYS', ...keys)
      moved += keys.length
    }
    for (const client of [target, source]) {
      await client.call('CLUSTER', 'SETSLOT', slot, 'NODE', `${targetId}`)
    }
    return { moved }
  } finally {
    for (const client of clients) client.disconnect()
  }
}
