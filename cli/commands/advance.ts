import { connect } from '../client.js'
import { clockLine } from '../clock-lines.js'
import { defineCommand } from '../command.js'
import type { AdvancedClock } from '../control-api.js'
import { readDuration } from '../durations.js'
import { EXIT, UsageError } from '../failure.js'
import { SANDBOX_OPTIONS } from '../find-sandbox.js'
import { one, type Read } from '../options.js'
import { readInstant } from '../values.js'

const readTarget: Read<string> = (text, name) => (text === 'next' ? text : readInstant(text, name))

/** `tix-webhooks advance`: through the control API. */
export const advance = defineCommand({
  name: 'advance',
  summary: 'lets virtual time pass: does what falls due, and awaits the answers',
  args: [{ name: 'TIME', says: 'how long, such as 72h', optional: true }],
  options: {
    to: one('WHEN', readTarget, 'next (what is due next), or a moment such as 2026-12-01T19:00:00Z'),
    ...SANDBOX_OPTIONS,
  },
  examples: [
    { says: 'all retries of a failed delivery', line: 'tix-webhooks advance 72h' },
    { says: 'the next retry', line: 'tix-webhooks advance --to next' },
    { says: 'the evening of the event', line: 'tix-webhooks advance --to 2099-12-01T19:00:00+01:00' },
  ],
  async run({ to, sandbox }, [time], context) {
    const { out } = context
    if ((time === undefined) === (to === undefined)) {
      throw new UsageError('Say how far: a time such as 72h, or --to next, or --to 2026-12-01T19:00:00Z.')
    }
    const body = time === undefined ? { to } : { advance: readDuration(time, 'TIME') / 1000 }
    const client = await connect(sandbox, context)
    out.progress(`Advancing ${time ?? `to ${to}`}…`)
    const clock = await client.call<AdvancedClock>('POST', '/clock', body)
    const { delivered, failed } = clock.attempts
    out.tell(
      clock,
      `${clockLine(clock)}\n${counted(delivered + failed, 'attempt')}: ${delivered} delivered, ${failed} failed`,
    )
    return EXIT.ok
  },
})

const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`
