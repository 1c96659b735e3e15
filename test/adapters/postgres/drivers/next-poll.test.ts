import { connect, type Socket } from 'node:net'
import { ddl, postgresInbox } from 'tix-webhooks/postgres'
import { expect, onTestFinished, test, vi } from 'vitest'
import { onPostgres } from '../../../support/on-servers.js'
import { INBOX_CLIENTS, openPostgresJs } from '../../../support/postgres-clients.js'
import { testDatabase } from '../../../support/postgres-database.js'

onPostgres.each(INBOX_CLIENTS.filter(({ name }) => name === 'pg' || name === 'postgres.js'))(
  'a delivery through postgresInbox over $name',
  ({ open }) => {
    const database = testDatabase(ddl)

    test('waits for no timer, each of which takes a millisecond', async () => {
      const client = open(database, { max: 1 })
      const inbox = client.inbox()
      const deliver = (key: string) =>
        inbox.once({ key, retainMs: 60_000 }, async (tx) => void (await client.run(tx, 'SELECT 1')))
      await deliver('connects')
      const timers = vi.spyOn(globalThis, 'setTimeout')
      onTestFinished(() => timers.mockRestore())
      expect(await deliver('timed')).toEqual({ status: 'handled' })
      expect(await deliver('timed')).toEqual({ status: 'duplicate' })
      // Time limits are longer.
      expect(timers.mock.calls.map(([, ms]) => ms ?? 0).filter((ms) => ms < 1_000)).toEqual([])
    })
  },
)

/** Opened before the channel of `nextPoll`: of two that have messages at one poll, this one is called first. */
const earlier = new MessageChannel()

// postgres.js learns of a lost connection when its socket closes, a moment after Node reads the loss. A statement that it gets in between
// can keep the connection after it from ever getting ready, and one that it gets at the close ends the process.
onPostgres('a connection of postgres.js that is lost as the handler returns', () => {
  const database = testDatabase(ddl)

  const MOMENTS: [string, (socket: Socket, lose: () => void) => Promise<void>][] = [
    [
      'just before its socket closes',
      (_, lose) =>
        new Promise((resolve) =>
          setImmediate(() => {
            lose()
            resolve()
          }),
        ),
    ],
    [
      'as its socket closes',
      (socket, lose) =>
        new Promise((resolve) => {
          socket.prependOnceListener('close', () => resolve())
          lose()
        }),
    ],
    [
      'just before its transaction is checked',
      async (_, lose) => {
        earlier.port1.onmessage = lose
        earlier.port2.postMessage(0)
      },
    ],
    [
      'just before COMMIT',
      async (_, lose) => {
        earlier.port1.onmessage = () => {
          earlier.port1.onmessage = lose
          setImmediate(() => earlier.port2.postMessage(0))
        }
        earlier.port2.postMessage(0)
      },
    ],
  ]

  test.each(MOMENTS)('%s: the delivery fails, and the next gets a connection', async (moment, returning) => {
    onTestFinished(() => {
      earlier.port1.onmessage = null
    })
    let socket: Socket | undefined
    const { hostname: host, port } = new URL(database.url)
    const open = { socket: () => (socket = connect({ host, port: Number(port || 5432) })) }
    const inbox = postgresInbox(openPostgresJs(database, { max: 1 }, open as object))
    const request = { key: moment, retainMs: 60_000 }
    const delivery = inbox.once(request, async () => {
      const lost = socket as Socket
      // As Node does when it reads a reset.
      await returning(lost, () => lost.destroy(new Error('read ECONNRESET')))
    })
    await expect(delivery).rejects.toMatchObject({ code: 'store_unavailable' })
    // The server may not have seen yet that the connection is gone.
    let next = await inbox.once(request, async () => {})
    while (next.status === 'in_flight') next = await inbox.once(request, async () => {})
    expect(next).toEqual({ status: 'handled' })
  })
})
