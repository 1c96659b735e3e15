import { type Context, defineCommand } from '../../arguments/command.js'
import { readDuration } from '../../arguments/durations.js'
import { option, type Read } from '../../arguments/options.js'
import { readInstant } from '../../arguments/values.js'
import { type Client, connect } from '../../client/client.js'
import type { AdvancedClock, ClockView } from '../../client/control-api.js'
import { SANDBOX_OPTIONS } from '../../client/find-sandbox.js'
import { EXIT, UsageError } from '../../failure.js'
import { clockLine } from '../../render/clock-lines.js'
import { deliveredText } from '../../render/delivered-text.js'
import type { Output } from '../../terminal/output.js'

const readTarget: Read<string> = (text, name) => (text === 'next' ? text : readInstant(text, name))

const PROGRESS_MS = 200

/** `tix-webhooks advance`: through the control API. */
export const advance = defineCommand({
  name: 'advance',
  summary: 'moves the virtual time forward, does what falls due, and waits for the answers',
  args: [{ name: 'TIME', says: 'how far, such as 72h', optional: true }],
  options: {
    to: option(
      'WHEN',
      readTarget,
      'next (when something is due next), or a time such as 2026-12-01T19:00:00Z',
    ),
    ...SANDBOX_OPTIONS,
  },
  examples: [
    { says: 'through all retries of a failed delivery', line: 'tix-webhooks advance 72h' },
    { says: 'to the next retry', line: 'tix-webhooks advance --to next' },
    { says: 'to the evening of the event', line: 'tix-webhooks advance --to 2099-12-01T19:00:00+01:00' },
  ],
  async run({ to, sandbox }, [time], context) {
    const { out } = context
    if ((time === undefined) === (to === undefined)) {
      throw new UsageError('How far? Give a time such as 72h, --to next, or --to 2026-12-01T19:00:00Z.')
    }
    const body = time === undefined ? { to } : { advance: readDuration(time, 'TIME') / 1000 }
    const client = await connect(sandbox, context)
    const what = `Advancing ${time ?? `to ${to}`}…`
    const stop = showProgress(what, client, context)
    try {
      const clock = await client.call<AdvancedClock>('POST', '/clock', body)
      out.print(clock, `${clockLine(clock)}\n${deliveriesLine(clock, out)}`)
    } finally {
      stop()
    }
    return EXIT.ok
  },
})

/** Counts the attempts as they end, on a terminal. */
function showProgress(what: string, client: Client, { io, out }: Context): () => void {
  out.progress(what)
  if (out.json || io.stderr.isTTY !== true) return () => {}
  let isOver = false
  let isAsking = false
  const timer = setInterval(async () => {
    if (isAsking) return
    isAsking = true
    // Errors of the advance are reported by its own call.
    const { advancing } = await client.call<ClockView>('GET', '/clock').catch((): Partial<ClockView> => ({}))
    isAsking = false
    if (isOver || advancing === undefined) return
    const { delivered, failed } = advancing
    out.progress(`${what} ${counted(delivered + failed, 'attempt')}, ${failed} failed`)
  }, PROGRESS_MS)
  return () => {
    isOver = true
    clearInterval(timer)
  }
}

/** `1 delivered (1 parked), 2 given up after 11 attempts, 1 retrying`, or a sentence if nothing was due. */
function deliveriesLine({ deliveries }: AdvancedClock, { colors, program }: Output): string {
  const { delivered, parked, given_up: givenUp, retrying, given_up_after: after } = deliveries
  const parts = [
    ...(delivered === 0 ? [] : [colors.green(deliveredText(delivered, parked))]),
    ...(givenUp === 0 ? [] : [colors.red(`${givenUp} given up after ${range(after)}`)]),
    ...(retrying === 0 ? [] : [colors.magenta(`${retrying} retrying`)]),
  ]
  if (parts.length === 0) return 'No delivery was due.'
  return [
    parts.join(', '),
    ...(givenUp === 0 ? [] : [colors.bold(`To list them: ${program} deliveries --status failed`)]),
  ].join('\n')
}

function range(after: readonly [number, number] | null): string {
  const [least, most] = after ?? [1, 1]
  return least === most ? counted(most, 'attempt') : `${least} to ${most} attempts`
}

const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`
