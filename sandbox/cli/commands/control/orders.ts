import { defineCommand } from '../../arguments/command.js'
import { flag, option } from '../../arguments/options.js'
import { readText, wholeNumber } from '../../arguments/values.js'
import { connect } from '../../client/client.js'
import type { OrdersView, OrderView } from '../../client/control-api.js'
import { SANDBOX_OPTIONS } from '../../client/find-sandbox.js'
import { EXIT, UsageError } from '../../failure.js'
import { type Column, table } from '../../terminal/layout.js'
import { type Output, printable } from '../../terminal/output.js'

const MAX_LIMIT = 1000

/** `tix-webhooks orders`: what was sold, and whether it was refunded. */
export const orders = defineCommand({
  name: 'orders',
  summary: 'lists the orders with their tickets, newest first',
  details:
    'Those of the test account, or with --live those of the live one: the two share nothing. Cancelling an event refunds all its orders. The tickets of the latest 1,000 orders are kept.',
  options: {
    event: option('EVENT', readText, 'only those of this event, evt_…'),
    refunded: flag('only those that were refunded'),
    paid: flag('only those that were not'),
    live: flag('those of the live account'),
    limit: option('N', wholeNumber(1, MAX_LIMIT), 'the most to list', '25'),
    ...SANDBOX_OPTIONS,
  },
  examples: [
    { says: 'the latest', line: 'tix-webhooks orders' },
    { says: 'those that were not refunded', line: 'tix-webhooks orders --paid' },
    { says: 'each with its scan tokens, for a program', line: 'tix-webhooks orders --json' },
  ],
  async run({ event, refunded, paid, live, limit, sandbox }, _words, context) {
    if (refunded && paid)
      throw new UsageError('--refunded and --paid exclude each other: leave out one of them.')
    const client = await connect(sandbox, context)
    const query = new URLSearchParams({
      limit: String(limit),
      ...(event !== undefined && { event }),
      ...(live && { mode: 'live' }),
      ...((refunded || paid) && { refunded: String(refunded) }),
    })
    const { data, matching } = await client.call<OrdersView>('GET', `/orders?${query}`)
    const { out } = context
    if (data.length === 0) {
      out.note(
        event === undefined && !refunded && !paid
          ? 'There are no orders yet. To make one: tix-webhooks trigger order.created'
          : 'No order matches. To list all: tix-webhooks orders',
      )
    }
    const [heads = '', ...lines] = table(
      COLUMNS,
      data.map((order) => cells(order, out)),
      out.columns,
    )
    if (data.length > 0) out.heading(heads)
    data.forEach((order, index) => {
      out.print(order, lines[index] ?? '')
    })
    if (matching > data.length) out.note(`${matching - data.length} more match: list more with --limit.`)
    return EXIT.ok
  },
})

const COLUMNS: readonly Column[] = [
  { head: 'ORDER' },
  { head: 'STATE' },
  { head: 'CENTS', drop: 2 },
  { head: 'BUYER', drop: 3 },
  { head: 'EVENT', drop: 4 },
  { head: 'TICKETS', drop: 1 },
]

function cells(
  { id, refunded, total_cents, buyer_email, event_id, quantity, tier, tickets }: OrderView,
  { colors }: Output,
): readonly string[] {
  const kept = tickets.map((ticket) => ` ${ticket.id}`).join('')
  return [
    id,
    refunded ? colors.magenta('refunded') : colors.green('paid'),
    String(total_cents),
    printable(buyer_email),
    event_id,
    `${quantity} × ${printable(tier)}${kept}`,
  ]
}
