import { answerText, DELIVERY_STATUSES } from '../../../internal.js'
import { type Command, defineCommand } from '../../arguments/command.js'
import { sayDuration } from '../../arguments/durations.js'
import { flag, option } from '../../arguments/options.js'
import { oneOf, readText, wholeNumber } from '../../arguments/values.js'
import { summaryOf } from '../../client/attempt-summary.js'
import { connect } from '../../client/client.js'
import type { AttemptView, DeliveriesView, DeliveryView } from '../../client/control-api.js'
import { SANDBOX_OPTIONS } from '../../client/find-sandbox.js'
import { EXIT } from '../../failure.js'
import { attemptLine, type Hints, hintsOnce } from '../../render/attempt-lines.js'
import { type Column, table } from '../../terminal/layout.js'
import { type Output, printable } from '../../terminal/output.js'

const STATUSES = [...DELIVERY_STATUSES, 'scenario'] as const
const MAX_LIMIT = 1000

const list = defineCommand({
  name: 'deliveries',
  summary: 'lists the deliveries, newest first',
  details:
    'Deliveries of a scenario are passed or wrong_answer (scenario lists both), and --exit-code does not count them. It counts all other deliveries that match, even those beyond --limit and those that the sandbox no longer keeps (it keeps the latest 1,000 that are done). With --status failed it counts parked ones too: answered 2xx, but not handled.',
  options: {
    status: option('STATUS', oneOf(...STATUSES), `only this status: ${STATUSES.join(', ')}`),
    type: option('KIND', readText, 'only this kind, or a group such as event.*'),
    endpoint: option('ENDPOINT', readText, 'only those to this endpoint'),
    limit: option('N', wholeNumber(1, MAX_LIMIT), 'the most to list', '25'),
    'exit-code': flag(
      'exit code 1 if there are any, or with --status failed parked ones, apart from those of scenarios',
    ),
    ...SANDBOX_OPTIONS,
  },
  examples: [
    { says: 'the latest', line: 'tix-webhooks deliveries' },
    {
      says: 'orders that did not arrive',
      line: 'tix-webhooks deliveries --status failed --type order.created',
    },
    {
      says: 'in CI, after advance 72h: fail if one never arrived, or is parked',
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
    const { data, matching, genuine, forgotten, parked } = await client.call<DeliveriesView>(
      'GET',
      `/deliveries?${query}`,
    )
    if (data.length === 0) {
      context.out.note(
        [status, type, endpoint].every((filter) => filter === undefined)
          ? 'There are no deliveries yet. To make one: tix-webhooks trigger order.created'
          : 'No delivery matches. To list all: tix-webhooks deliveries',
      )
    }
    const { out } = context
    const { now } = client.status.clock
    const [heads = '', ...lines] = table(
      COLUMNS,
      data.map((delivery) => cells(delivery, now, out)),
      out.columns,
    )
    if (data.length > 0) out.heading(heads)
    data.forEach((delivery, index) => {
      out.print(delivery, lines[index] ?? '')
    })
    const [first] = data
    if (status === 'failed' && first !== undefined)
      context.out.note(`To see its attempts and the answers: ${out.program} deliveries show ${first.id}`)
    if (matching > data.length)
      context.out.note(`${matching - data.length} more match: list more with --limit.`)
    if (forgotten > 0) {
      const are = forgotten === 1 ? 'delivery is' : 'deliveries are'
      context.out.note(
        `${forgotten} older ${status === undefined ? '' : `${status} `}${are} no longer kept, and so not listed: the sandbox keeps the latest 1,000.`,
      )
    }
    // Those of other statuses are in the list, if they match.
    const unlisted = status === 'failed' ? parked : 0
    if (unlisted > 0) {
      const [were, are] = unlisted === 1 ? ['was', 'it is'] : ['were', 'they are']
      context.out.note(
        `${unlisted} ${were} answered 2xx, but parked: ${are} not handled. To list the delivered ones: ${out.program} deliveries --status delivered`,
      )
    }
    return withExitCode && genuine + forgotten + unlisted > 0 ? EXIT.failed : EXIT.ok
  },
})

const show = defineCommand({
  name: 'deliveries show',
  summary: 'shows a delivery in full: its body, its attempts and the answers',
  args: [{ name: 'DELIVERY', says: 'id of the delivery, dlv_…' }],
  options: SANDBOX_OPTIONS,
  examples: [{ says: 'by its id', line: 'tix-webhooks deliveries show dlv_4eC39HqLyjWDarjtT1zd' }],
  async run({ sandbox }, [id = ''], context) {
    const { out } = context
    const client = await connect(sandbox, context)
    const delivery = await client.call<DeliveryView>('GET', `/deliveries/${encodeURIComponent(id)}`)
    const hints = hintsOnce()
    const attempts = delivery.attempts.map((attempt) => attemptLines(attempt, out, hints))
    const { now } = client.status.clock
    const about = COLUMNS.map(({ head }, index) => [
      head.toLowerCase(),
      cells(delivery, now, out)[index] ?? '',
    ])
      .filter(([, cell]) => cell !== '')
      .map(([head = '', cell]) => `${head.padEnd(10)}  ${cell}`)
    out.print(delivery, [...about, '', printable(delivery.body), ...attempts].join('\n'))
    return EXIT.ok
  },
})

/** The log of what was sent. */
export const deliveryCommands: readonly Command[] = [list, show]

const PAINTS = {
  delivered: 'green',
  passed: 'green',
  failed: 'red',
  wrong_answer: 'red',
  retrying: 'magenta',
  skipped: 'magenta',
} as const

const TRIGGERS: Readonly<Record<string, string>> = {
  auto: 'by the schedule',
  manual: 'resent by hand',
  scenario: 'of a scenario',
}

/** The columns of a list; a narrow terminal shows fewer. */
const COLUMNS: readonly Column[] = [
  { head: 'DELIVERY' },
  { head: 'KIND' },
  { head: 'STATUS' },
  { head: 'ATTEMPTS', drop: 1 },
  { head: 'LAST', drop: 2 },
  { head: 'NEXT', drop: 3 },
  { head: 'CREATED', drop: 5 },
  { head: 'ENDPOINT', drop: 4 },
  { head: 'REASON', drop: 6 },
]

/** The row of one delivery. Absent values are empty, so that the columns stay aligned. */
function cells(
  { id, type, status, created_at: at, next_at: nextAt, url, attempts, reason }: DeliveryView,
  now: string,
  { colors }: Output,
): readonly string[] {
  const paint = status in PAINTS ? colors[PAINTS[status as keyof typeof PAINTS]] : colors.dim
  const last = attempts.at(-1)
  return [
    id,
    printable(type),
    paint(status.replace('_', ' ')),
    String(attempts.length),
    last === undefined ? '' : printable(answerText(last)),
    nextAt == null ? '' : `in ${sayDuration(Date.parse(nextAt) - Date.parse(now))}`,
    at.replace(/\.\d+Z$/, 'Z'),
    url === null ? 'endpoint removed' : printable(url),
    printable(reason ?? ''),
  ]
}

function attemptLines(attempt: AttemptView, out: Output, hints: Hints): string {
  const { number, trigger, virtual_time: at, request, response } = attempt
  const headers = Object.entries({ ...request.headers }).map(([name, value]) => `    > ${name}: ${value}`)
  // Absent if it was the body of the message, which is shown above.
  const sent = request.body === undefined ? [] : [`    > ${request.body}`]
  const answered = Object.entries({ ...response?.headers }).map(([name, value]) => `    < ${name}: ${value}`)
  const body = response?.body ? [`    ${response.body}${response.truncated ? ' … (cut)' : ''}`] : []
  return [
    '',
    `attempt ${number} (${TRIGGERS[trigger] ?? printable(trigger)}) at ${at}`,
    attemptLine(summaryOf(attempt), out, { withAnswer: false, hints }),
    ...[...headers, ...sent, ...answered, ...body].map(printable),
  ].join('\n')
}
