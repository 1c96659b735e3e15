import { type Command, defineCommand } from '../../arguments/command.js'
import { readDuration, sayDuration } from '../../arguments/durations.js'
import { flag, option } from '../../arguments/options.js'
import { readText, wholeNumber } from '../../arguments/values.js'
import { connect } from '../../client/client.js'
import type { FaultView } from '../../client/control-api.js'
import { SANDBOX_OPTIONS } from '../../client/find-sandbox.js'
import { EXIT, UsageError } from '../../failure.js'
import { type Column, table } from '../../terminal/layout.js'
import { printable } from '../../terminal/output.js'

const MAX_TIMES = 1_000_000

const list = defineCommand({
  name: 'faults',
  summary: 'lists the faults that you added to the API, oldest first',
  details: 'If several match a request, the oldest applies.',
  options: SANDBOX_OPTIONS,
  examples: [{ says: 'all of them', line: 'tix-webhooks faults' }],
  async run({ sandbox }, _words, context) {
    const client = await connect(sandbox, context)
    const { data } = await client.call<{ data: readonly FaultView[] }>('GET', '/faults')
    const { out } = context
    if (data.length === 0) {
      out.note('There are no faults. To add one: tix-webhooks faults add /v2/events --status 503')
    }
    const [heads = '', ...lines] = table(COLUMNS, data.map(cells), out.columns)
    if (data.length > 0) out.heading(heads)
    data.forEach((fault, index) => {
      out.print(fault, lines[index] ?? '')
    })
    return EXIT.ok
  },
})

const add = defineCommand({
  name: 'faults add',
  summary: 'makes the API fail: errors, late answers or dropped connections',
  details:
    'Tests how your own client copes. A request with an error or a dropped connection is not executed; with only a delay it is executed, and answered late. The delay is in real time.',
  args: [{ name: 'PATH', says: 'beginning of the paths that fail, such as /v2/events, or /v2 for all' }],
  options: {
    status: option(
      'N',
      wholeNumber(400, 599),
      'answers this error: 400, 401, 403, 404, 409, 429, 500 to 599',
    ),
    delay: option('TIME', readDuration, 'answers this much later, up to 10m'),
    drop: flag('closes the connection without an answer'),
    method: option('METHOD', readText, 'only requests with this method, such as POST'),
    times: option(
      'N',
      wholeNumber(1, MAX_TIMES),
      'how many requests fail (default: all, until it is removed)',
    ),
    ...SANDBOX_OPTIONS,
  },
  examples: [
    {
      says: 'two errors, then success',
      line: 'tix-webhooks faults add /v2/events --status 503 --times 2',
    },
    { says: 'late answers, for a timeout', line: 'tix-webhooks faults add /v2 --delay 30s' },
    {
      says: 'sales whose connection drops',
      line: 'tix-webhooks faults add /v2/sandbox/orders --method POST --drop',
    },
  ],
  async run({ status, delay, drop, method, times, sandbox }, [path = ''], context) {
    const { out } = context
    const client = await connect(sandbox, context)
    const fault = await client.call<FaultView>('POST', '/faults', {
      path,
      ...(method !== undefined && { method }),
      ...(status !== undefined && { status }),
      ...(delay !== undefined && { delay_ms: delay }),
      ...(drop && { drop }),
      ...(times !== undefined && { times }),
    })
    out.print(
      fault,
      cells(fault)
        .filter((cell) => cell !== '')
        .join('  '),
    )
    out.note(`To remove it: tix-webhooks faults remove ${fault.id}`)
    return EXIT.ok
  },
})

const remove = defineCommand({
  name: 'faults remove',
  summary: 'removes a fault, or all; requests that it delays continue',
  args: [{ name: 'FAULT', says: 'id of the fault, flt_…', optional: true }],
  options: { all: flag('all of them'), ...SANDBOX_OPTIONS },
  examples: [
    { says: 'by its id', line: 'tix-webhooks faults remove flt_4eC39HqLyjWDarjtT1zd' },
    { says: 'all of them', line: 'tix-webhooks faults remove --all' },
  ],
  async run({ all, sandbox }, [id], context) {
    if (all === (id !== undefined)) {
      throw new UsageError('Which fault? Give its id, or --all. To list them: tix-webhooks faults')
    }
    const client = await connect(sandbox, context)
    await client.call('DELETE', id === undefined ? '/faults' : `/faults/${encodeURIComponent(id)}`)
    context.out.print(
      { id: id ?? null, removed: true },
      id === undefined ? 'Removed all faults.' : `Removed ${id}.`,
    )
    return EXIT.ok
  },
})

/** Faults of the API on purpose. */
export const faultCommands: readonly Command[] = [list, add, remove]

const COLUMNS: readonly Column[] = [
  { head: 'FAULT' },
  { head: 'REQUESTS' },
  { head: 'EFFECT' },
  { head: 'LEFT', drop: 1 },
  { head: 'HITS', drop: 2 },
]

function cells({ id, path, method, status, delay_ms, drop, times, hits }: FaultView): readonly string[] {
  const effects = [
    ...(delay_ms === undefined ? [] : [`${sayDuration(delay_ms)} late`]),
    ...(drop ? ['dropped'] : []),
    ...(status === undefined ? [] : [`answered ${status}`]),
  ]
  return [
    id,
    printable(`${method ?? 'any'} ${path}…`),
    effects.join(', '),
    times === undefined ? 'until removed' : `${times} left`,
    hits === 1 ? '1 hit' : `${hits} hits`,
  ]
}
