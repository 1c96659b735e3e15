import { isHandled } from '../../../internal.js'
import { defineCommand } from '../../arguments/command.js'
import { readSeconds } from '../../arguments/durations.js'
import { flag, option } from '../../arguments/options.js'
import { readUrl } from '../../arguments/values.js'
import { summaryOf } from '../../client/attempt-summary.js'
import { connect } from '../../client/client.js'
import type { AttemptView, ResentView } from '../../client/control-api.js'
import { SANDBOX_OPTIONS } from '../../client/find-sandbox.js'
import { EXIT, UsageError } from '../../failure.js'
import { attemptLine, hintsOnce } from '../../render/attempt-lines.js'

type Resent = ResentView['data'][number]
type LeftOut = ResentView['left_out']

/** `tix-webhooks resend`: through the control API. */
export const resend = defineCommand({
  name: 'resend',
  summary: 'sends deliveries again: the same bytes with a new signature',
  details: 'Prints each answer. Exit code 1 if one of them is not a 2xx, or is parked.',
  args: [{ name: 'DELIVERY', says: 'ids of deliveries, dlv_…', optional: true, rest: true }],
  options: {
    failed: flag('all that failed or were skipped, for endpoints that still exist and are enabled'),
    since: option('TIME', readSeconds, 'all that were created within this time, such as 1h, in virtual time'),
    to: option('URL', readUrl, 'to this URL instead of the URL of their endpoint'),
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
        'Which deliveries? Give their ids, --failed or --since 1h. To list them: tix-webhooks deliveries',
      )
    }
    if (ids.length > 0 && isFiltered) {
      throw new UsageError('Give ids of deliveries, or --failed and --since, not both.')
    }
    const client = await connect(sandbox, context)
    const where = to === undefined ? {} : { to }
    const hints = hintsOnce()
    let isAllHandled = true
    const tell = ({ delivery, attempt }: Resent): void => {
      isAllHandled &&= isHandled(attempt.response)
      out.print({ delivery, attempt }, attemptLine(summaryOf(attempt), out, { delivery, hints }))
    }

    if (isFiltered) {
      out.progress('Resending…')
      const which = { ...(failed && { failed }), ...(since !== undefined && { since }) }
      const { data, left_out: leftOut } = await client.call<ResentView>('POST', '/resend', {
        ...which,
        ...where,
      })
      out.progress()
      for (const reason of reasons(leftOut, to === undefined)) out.note(reason)
      if (data.length === 0) out.note(nothing(client.status.clock.now, since))
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
    return isAllHandled ? EXIT.ok : EXIT.failed
  },
})

/** Reasons why deliveries were not sent again, and what to do. */
function reasons({ removed, disabled, spoilt }: LeftOut, isToEndpoints: boolean): readonly string[] {
  const are = (count: number): string => (count === 1 ? '1 delivery is' : `${count} deliveries are`)
  return [
    ...(removed === 0
      ? []
      : [
          `${are(removed)} left out: the endpoint was removed, and its secret with it. Trigger the kind again instead.`,
        ]),
    ...(disabled === 0 || !isToEndpoints
      ? []
      : [
          `${are(disabled)} left out: the endpoint is disabled. To enable it: tix-webhooks endpoints enable ENDPOINT`,
        ]),
    ...(spoilt === 0 ? [] : [`${are(spoilt)} left out: sent by a scenario. To resend one, name its id.`]),
  ]
}

function nothing(now: string, since: number | undefined): string {
  return since === undefined
    ? 'There is nothing to resend.'
    : `There is nothing to resend: --since counts back from the virtual time, which is ${now}.`
}
