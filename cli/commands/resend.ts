import { attemptLine, isDelivered, toldAttempt } from '../attempt-lines.js'
import { connect } from '../client.js'
import { defineCommand } from '../command.js'
import type { AttemptView, ResentView } from '../control-api.js'
import { readSeconds } from '../durations.js'
import { EXIT, UsageError } from '../failure.js'
import { SANDBOX_OPTIONS } from '../find-sandbox.js'
import { flag, one } from '../options.js'
import { readUrl } from '../values.js'

type Resent = ResentView['data'][number]

/** `tix-webhooks resend`: through the control API. */
export const resend = defineCommand({
  name: 'resend',
  summary: 'sends deliveries once more: the same bytes, signed anew',
  details: 'Exit code 1 when one of them is not answered with 2xx.',
  args: [{ name: 'DELIVERY', says: 'ids of deliveries, dlv_…', optional: true, rest: true }],
  options: {
    failed: flag('all that failed or were skipped'),
    since: one('TIME', readSeconds, 'all that were made in so much virtual time, such as 1h'),
    to: one('URL', readUrl, 'to this URL instead of their endpoint'),
    ...SANDBOX_OPTIONS,
  },
  examples: [
    { says: 'one of them', line: 'tix-webhooks resend dlv_4eC39HqLyjWDarjtT1zd' },
    { says: 'all that failed', line: 'tix-webhooks resend --failed' },
    {
      says: 'the last hour, to another receiver',
      line: 'tix-webhooks resend --since 1h --to http://localhost:3000/hooks',
    },
  ],
  async run({ failed, since, to, sandbox }, ids, context) {
    const { out } = context
    const isFiltered = failed || since !== undefined
    if (ids.length === 0 && !isFiltered) {
      throw new UsageError(
        'Say which: ids of deliveries, --failed, or --since 1h. tix-webhooks deliveries lists them.',
      )
    }
    if (ids.length > 0 && isFiltered) {
      throw new UsageError('Give ids of deliveries, or --failed and --since, not both.')
    }
    const client = await connect(sandbox, context)
    const where = to === undefined ? {} : { to }
    let isAllDelivered = true
    const tell = ({ delivery, attempt }: Resent): void => {
      isAllDelivered &&= isDelivered(attempt)
      out.tell({ delivery, attempt }, attemptLine(toldAttempt(attempt), out, { delivery }))
    }

    if (isFiltered) {
      out.progress('Resending…')
      const which = { ...(failed && { failed }), ...(since !== undefined && { since }) }
      const { data } = await client.call<ResentView>('POST', '/resend', { ...which, ...where })
      out.progress()
      if (data.length === 0) out.note('There is nothing to resend.')
      for (const resent of data) tell(resent)
    }
    for (const id of ids) {
      out.progress(`Resending ${id}…`)
      const attempt = await client.call<AttemptView>(
        'POST',
        `/deliveries/${encodeURIComponent(id)}/resend`,
        where,
      )
      tell({ delivery: id, attempt })
    }
    return isAllDelivered ? EXIT.ok : EXIT.failed
  },
})
