import { describe, expect, test } from 'vitest'
import { type CliSandbox, sandbox } from '../../../support/cli.js'

interface Order {
  id: string
  event_id: string
  tickets: { id: string; scan_token: string }[]
}

/** Two orders, of which the second is refunded. */
async function withOrders(): Promise<CliSandbox & { paid: Order; refunded: Order }> {
  const running = await sandbox('--freeze')
  for (const kind of ['order.created', 'order.created']) await running.run(`trigger ${kind} --no-wait`)
  const [refunded, paid] = (await running.json('orders')) as unknown as [Order, Order]
  await fetch(`${running.url}/v2/events/${refunded.event_id}/cancel`, {
    method: 'POST',
    headers: { authorization: 'bearer sk_test_local' },
  })
  return { ...running, paid, refunded }
}

describe('orders', () => {
  test('are listed, the newest first, with tickets and whether they were refunded', async () => {
    const { run, paid, refunded } = await withOrders()
    const { code, stdout } = await run('orders')
    expect(code).toBe(0)
    const line = ({ id, event_id, tickets }: Order, state: string, buyer: number) =>
      `${id}  ${state}  5400  buyer${buyer}@example.com  ${event_id}  2 × general admission ${tickets.map((ticket) => ticket.id).join(' ')}`
    expect(stdout.replaceAll(/ {2,}/g, '  ')).toBe(
      [
        'ORDER  STATE  CENTS  BUYER  EVENT  TICKETS',
        line(refunded, 'refunded', 2),
        line(paid, 'paid', 1),
        '',
      ].join('\n'),
    )
  })

  test('are filtered by event and refund, and limited', async () => {
    const { run, json, paid, refunded } = await withOrders()
    const ids = async (...argv: string[]) => (await json('orders', ...argv)).map(({ id }) => id)
    expect(await ids()).toEqual([refunded.id, paid.id])
    expect(await ids('--refunded')).toEqual([refunded.id])
    expect(await ids('--paid')).toEqual([paid.id])
    expect(await ids('--event', paid.event_id)).toEqual([paid.id])
    expect(await ids('--limit', '1')).toEqual([refunded.id])
    expect((await run('orders --limit 1')).stderr).toBe('1 more match: list more with --limit.\n')
    expect(await run('orders --refunded --paid')).toMatchObject({ code: 2 })
  })
})
