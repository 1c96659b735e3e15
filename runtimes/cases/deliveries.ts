import assert from 'node:assert/strict'
import { type Client, order, runsOf } from './client.js'

/** Sends events through a store or an inbox of the server, each several times at once. The first run of each fails; one more must succeed. */
export async function runDeliveries(client: Client, backend: string, hasRows: boolean): Promise<void> {
  const orders = await Promise.all(Array.from({ length: 5 }, () => order('fail')))
  for (let round = 0; round < 2; round++) {
    await Promise.all(orders.flatMap(({ delivery }) => [1, 2, 3].map(() => client.send(backend, delivery))))
  }
  // One of each: of two at once, an inbox answers one with `in_flight`.
  const last = await Promise.all(orders.map(({ delivery }) => client.send(backend, delivery)))
  const answers = new Set(last.map(({ status, outcome }) => `${status} ${outcome}`))
  const { reports } = await client.log()
  const own = reports.filter((report) => report.startsWith(`${backend}: `))
  assert.deepEqual([...answers], ['200 duplicate'], own.join('\n'))
  for (const { id } of orders) assert.equal((await runsOf(client, id)).length, 2)
  if (!hasRows) return
  const rows = await client.control<string[]>(`rows/${backend}`)
  for (const { id } of orders) assert.equal(rows.filter((row) => row === id).length, 1)
}
