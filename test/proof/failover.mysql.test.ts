import mysql from 'mysql2/promise'
import type { Inbox } from 'tix-webhooks'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { type MysqlServer, startMysql } from '../support/mysql-server.js'
import { onOwnMysql } from '../support/on-servers.js'
import { deferred } from '../support/promises.js'
import { MYSQL, MYSQL_INBOXES } from '../support/proof-mysql.js'
import { mysqlPlace } from '../support/proof-places.js'
import { receiving } from '../support/receiving.js'
import { newOrder, newOrders, type Order } from '../support/running-apps.js'
import { startProxy } from '../support/tcp-proxy.js'

// A loaded machine is many times slower than an idle one.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

const CLIENTS = ['mysql2', 'mariadb'] as const
const HANDLED = { outcome: 'handled' }
const DUPLICATE = { outcome: 'duplicate' }

async function ask(server: MysqlServer, ...statements: string[]): Promise<mysql.RowDataPacket[]> {
  const connection = await mysql.createConnection(server.url)
  let rows: mysql.RowDataPacket[] = []
  for (const statement of statements) [rows] = await connection.query<mysql.RowDataPacket[]>(statement)
  await connection.end()
  return rows
}

onOwnMysql('a failover to a replica that has not got the last transactions', () => {
  let primary: MysqlServer
  let replica: MysqlServer

  beforeAll(async () => {
    ;[primary, replica] = await Promise.all([
      startMysql({ settings: { server_id: 1, log_bin: 'binlog' } }),
      startMysql({ settings: { server_id: 2 } }),
    ])
    await ask(
      replica,
      `CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = ${primary.port}, MASTER_USER = 'root', MASTER_USE_GTID = slave_pos`,
      'START SLAVE',
    )
  })
  afterAll(() => Promise.all([primary?.stop(), replica?.stop()]))

  /** Waits until the replica has all that the primary has. */
  async function catchUp(): Promise<void> {
    const [row] = await ask(primary, 'SELECT @@gtid_binlog_pos AS position')
    const [waited] = await ask(replica, `SELECT MASTER_GTID_WAIT('${row?.position}', 20) AS result`)
    expect(waited).toEqual({ result: 0 })
  }

  test('forgets completions that were acknowledged, and of an inbox the effects with them', async () => {
    const { place, url: direct } = await mysqlPlace(primary.url)
    const proxy = await startProxy({ port: primary.port })
    const url = new URL(direct)
    url.host = `127.0.0.1:${proxy.port}`
    const runs = new Map<string, number>()
    const kept = new Set<Order>()
    const forgotten = new Set<Order>()
    const running = deferred()
    const isInHandler = deferred()
    const hanging = await newOrder()

    const guards = await Promise.all(
      CLIENTS.flatMap((client) => [
        ['inbox', MYSQL_INBOXES[client]({ url: url.href, place })] as const,
        ['store', MYSQL[client]({ url: url.href, place })] as const,
      ]).map(async ([kind, opening]) => {
        const opened = await opening
        const { receiver } = receiving<unknown>({
          ...('inbox' in opened ? { inbox: opened.inbox as Inbox<unknown> } : { store: opened.store }),
          namespace: 'proof',
          timeoutSeconds: 20,
          on: {
            'order.created': async (event, ctx) => {
              const { id } = event.data.order
              runs.set(id, (runs.get(id) ?? 0) + 1)
              await ('inbox' in opened ? opened.effect(id, ctx.tx) : opened.effect(id, ctx.attempt))
              if (id !== hanging.id || runs.get(id) !== 1) return
              isInHandler.resolve()
              await running.promise
            },
          },
        })
        const send = ({ header, body }: Order) => receiver.receive({ header, body, request: null })
        return {
          kind,
          send,
          close: opened.close,
          orders: { kept: await newOrders(3), lost: await newOrders(3) },
        }
      }),
    )
    const inboxes = guards.filter(({ kind }) => kind === 'inbox')
    const idsOf = (orders: readonly Order[]): string[] => orders.map(({ id }) => id).sort()
    const effects = async (): Promise<unknown[]> =>
      (await ask(replica, `SELECT id FROM ${place}.effects ORDER BY BINARY id`)).map(({ id }) => id)

    for (const { send, orders } of guards) {
      expect(await Promise.all(orders.kept.map(send))).toEqual(orders.kept.map(() => HANDLED))
      for (const order of orders.kept) kept.add(order)
    }
    await catchUp()
    await ask(replica, 'STOP SLAVE')
    for (const { send, orders } of guards) {
      expect(await Promise.all(orders.lost.map(send))).toEqual(orders.lost.map(() => HANDLED))
      expect(await Promise.all(orders.lost.map(send))).toEqual(orders.lost.map(() => DUPLICATE))
      for (const order of orders.lost) forgotten.add(order)
    }
    const [first] = inboxes
    const interrupted = first?.send(hanging)
    await isInHandler.promise
    await primary.kill()
    await ask(replica, 'RESET SLAVE ALL')
    proxy.switchTo(replica.port)
    running.resolve()
    expect((await interrupted)?.outcome).toMatch(/^(failed|unavailable)$/)

    // Of no transaction is a part there.
    expect(await effects()).toEqual(idsOf([...kept]))
    for (const { send, orders } of guards) {
      expect(await Promise.all(orders.kept.map(send))).toEqual(orders.kept.map(() => DUPLICATE))
      expect(await Promise.all(orders.lost.map(send))).toEqual(orders.lost.map(() => HANDLED))
      expect(await Promise.all(orders.lost.map(send))).toEqual(orders.lost.map(() => DUPLICATE))
    }
    expect(await first?.send(hanging)).toEqual(HANDLED)
    const all = [...kept, ...forgotten, hanging]
    expect(await effects()).toEqual(idsOf(all))
    // What a handler does elsewhere is done twice.
    expect(all.map(({ id }) => runs.get(id))).toEqual(all.map((order) => (kept.has(order) ? 1 : 2)))

    await Promise.all(guards.map(({ close }) => close()))
    await proxy.close()
  })
})
