import { attemptLine, toldAttempt } from '../attempt-lines.js'
import { connect } from '../client.js'
import { type Command, defineCommand } from '../command.js'
import type { AttemptView, DeliveriesView, DeliveryView } from '../control-api.js'
import { EXIT } from '../failure.js'
import { SANDBOX_OPTIONS } from '../find-sandbox.js'
import { flag, one } from '../options.js'
import { aligned, type Output, printable } from '../output.js'
import { oneOf, readText, wholeNumber } from '../values.js'

const STATUSES = ['pending', 'retrying', 'delivered', 'failed', 'skipped'] as const
const MAX_LIMIT = 1000

const list = defineCommand({
  name: 'deliveries',
  summary: 'lists deliveries, the newest first',
  details:
    'What a scenario sent is listed, too: there, failed means that it was refused, which may be right: --exit-code does not count it. It counts all others, beyond --limit too, and those of this status that the sandbox no longer keeps: it has the latest 1,000 that are done.',
  options: {
    status: one('STATUS', oneOf(...STATUSES), `only those: ${STATUSES.join(', ')}`),
    type: one('KIND', readText, 'only this kind, or a group such as event.*'),
    endpoint: one('ENDPOINT', readText, 'only to this one'),
    limit: one('N', wholeNumber(1, MAX_LIMIT), 'no more than these', '25'),
    'exit-code': flag('exit code 1 if there are any that no scenario sent'),
    ...SANDBOX_OPTIONS,
  },
  examples: [
    { says: 'the latest', line: 'tix-webhooks deliveries' },
    { says: 'what did not arrive', line: 'tix-webhooks deliveries --status failed --type order.created' },
    {
      says: 'in CI, after advance 72h: fail where one never arrived',
      line: 'tix-webhooks deliveries --status failed --exit-code',
    },
  ],
  async run({ status, type, endpoint, limit, 'exit-code': withExitCode, sandbox }, _words, context) {
    const client = await connect(sandbox, context)
    const query = new URLSearchParams({
      limit: String(limit),
      ...(status !== undefined && { status }),
      ...(type !== undefined && { type }),
      ...(endpoint !== undefined && { endpoint }),
    })
    const { data, matching, genuine, forgotten } = await client.call<DeliveriesView>(
      'GET',
      `/deliveries?${query}`,
    )
    if (data.length === 0) {
      context.out.note(
        [status, type, endpoint].every((filter) => filter === undefined)
          ? 'There are none. Make one with: tix-webhooks trigger order.created'
          : 'There are none like that. To list all: tix-webhooks deliveries',
      )
    }
    const lines = aligned(data.map((delivery) => cells(delivery, context.out)))
    data.forEach((delivery, index) => {
      context.out.tell(delivery, lines[index] ?? '')
    })
    if (matching > data.length) context.out.note(`${matching - data.length} more match: see --limit.`)
    if (forgotten > 0) {
      const are = forgotten === 1 ? 'delivery is' : 'deliveries are'
      context.out.note(
        `${forgotten} older ${status === undefined ? '' : `${status} `}${are} no longer kept, and so not listed: the sandbox keeps the latest 1,000.`,
      )
    }
    return withExitCode && genuine + forgotten > 0 ? EXIT.failed : EXIT.ok
  },
})

const show = defineCommand({
  name: 'deliveries show',
  summary: 'shows one whole: its bytes, its attempts, and what was answered',
  args: [{ name: 'DELIVERY', says: 'id of the delivery, dlv_…' }],
  options: SANDBOX_OPTIONS,
  examples: [{ says: 'by its id', line: 'tix-webhooks deliveries show dlv_4eC39HqLyjWDarjtT1zd' }],
  async run({ sandbox }, [id = ''], context) {
    const { out } = context
    const client = await connect(sandbox, context)
    const delivery = await client.call<DeliveryView>('GET', `/deliveries/${encodeURIComponent(id)}`)
    const attempts = delivery.attempts.map((attempt) => attemptLines(attempt, out))
    out.tell(
      delivery,
      [aligned([cells(delivery, out)]).join(), '', printable(delivery.body), ...attempts].join('\n'),
    )
    return EXIT.ok
  },
})

/** The log of what was sent. */
export const deliveryCommands: readonly Command[] = [list, show]

const PAINTS = {
  delivered: 'green',
  failed: 'red',
  retrying: 'yellow',
  skipped: 'yellow',
} as const

/** What is said of one; what is absent is empty, so that each has its column. */
function cells(
  { id, type, status, created_at: at, next_at: nextAt, url, attempts, reason }: DeliveryView,
  out: Output,
): readonly string[] {
  const { colors } = out
  const paint = status in PAINTS ? colors[PAINTS[status as keyof typeof PAINTS]] : colors.dim
  const last = attempts.at(-1)
  return [
    id,
    colors.bold(printable(type)),
    paint(status),
    `${attempts.length} ${attempts.length === 1 ? 'attempt' : 'attempts'}`,
    last === undefined ? '' : `last ${printable(String(last.response?.status ?? last.error?.code))}`,
    at,
    nextAt == null ? '' : `next ${nextAt}`,
    url === null ? 'endpoint removed' : printable(url),
    printable(reason ?? ''),
  ]
}

function attemptLines(attempt: AttemptView, out: Output): string {
  const { number, trigger, virtual_time: at, request, response } = attempt
  const headers = Object.entries({ ...request.headers }).map(([name, value]) => `    > ${name}: ${value}`)
  // Absent where it was the body of the message, which is shown above.
  const sent = request.body === undefined ? [] : [`    > ${request.body}`]
  const answered = Object.entries({ ...response?.headers }).map(([name, value]) => `    < ${name}: ${value}`)
  const body = response?.body ? [`    ${response.body}${response.truncated ? ' … (cut)' : ''}`] : []
  return [
    '',
    `${number} ${trigger} at ${at}`,
    attemptLine(toldAttempt(attempt), out, { withAnswer: false }),
    ...[...headers, ...sent, ...answered, ...body].map(printable),
  ].join('\n')
}
