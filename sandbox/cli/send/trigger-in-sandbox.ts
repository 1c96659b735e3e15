import { isHandled } from '../../internal.js'
import type { Context } from '../arguments/command.js'
import { type AttemptSummary, summaryOf } from '../client/attempt-summary.js'
import { connectIfRunning } from '../client/client.js'
import type { DeliveryView, TriggeredView } from '../client/control-api.js'
import { isLoopback } from '../client/find-sandbox.js'
import { isOneServer } from '../client/two-servers.js'
import { EXIT, type ExitCode, Failure } from '../failure.js'
import { attemptLine, type Hints, hintsOnce } from '../render/attempt-lines.js'
import { type Output, printable } from '../terminal/output.js'
import { judgeScenario, printJudgement } from './judge-scenario.js'
import type { EventRequest } from './made-up-events.js'

/** A trigger in a running sandbox. */
export interface SandboxRequest extends EventRequest {
  readonly scenario: string | undefined
  readonly repeat: number
  readonly chain: boolean
  readonly wait: boolean
  readonly mode: 'test' | 'live'
}

/** Triggers a webhook in the running sandbox, and prints its deliveries. */
export async function triggerInSandbox(
  { data, event, scenario, ...request }: SandboxRequest,
  flag: string | undefined,
  context: Context,
): Promise<ExitCode> {
  const { out } = context
  const client = await connectIfRunning(flag, context)
  if (client === undefined) {
    throw new Failure(
      EXIT.noSandbox,
      'No sandbox is running. Start one with: tix-webhooks sandbox. To send once without one: --to URL',
    )
  }
  if (request.wait) out.progress(`Waiting for the answers to ${request.kind}…`)
  const triggered = await client.call<TriggeredView>('POST', '/trigger', {
    ...request,
    ...(data !== undefined && { data }),
    ...(event !== undefined && { event }),
    ...(scenario !== undefined && { scenario }),
  })
  const { messages, deliveries, attempts } = triggered
  if (deliveries.length === 0 && attempts.length === 0) {
    out.print(triggered, `${out.colors.cyan('-->')} ${printable(request.kind)} [${messages.join(', ')}]`)
    const live = request.mode === 'live' ? ' --live' : ''
    out.note(`No endpoint takes ${request.kind}. Add one with: tix-webhooks endpoints add URL${live}`)
    return request.wait ? EXIT.failed : EXIT.ok
  }
  let isDone = true
  const answered: AttemptSummary[] = []
  const hints = hintsOnce()
  for (const id of deliveries) {
    const delivery = await client.find<DeliveryView>(`/deliveries/${id}`)
    // The log keeps only the latest of many deliveries.
    if (delivery === undefined) continue
    answered.push(...delivery.attempts.map(summaryOf))
    if (scenario !== undefined) {
      isDone = printScenario(scenario, delivery, { out, hints }) && isDone
      continue
    }
    out.print(delivery, lines(delivery, request.wait, { out, hints }))
    isDone &&= !request.wait || delivery.attempts.some(({ response }) => isHandled(response))
  }
  if (!request.wait && attempts.length === 0) {
    const [only, ...others] = deliveries
    out.note(
      others.length === 0
        ? `See the answer: tix-webhooks deliveries show ${only}`
        : `See the answers: tix-webhooks deliveries --limit ${Math.min(deliveries.length, 1000)}`,
    )
  }
  // Its localhost is this one only if it runs on this machine.
  const isHere = isLoopback(new URL(client.url).hostname.replace(/^\[|\]$/g, ''))
  const isSure = !request.wait || !isHere || (await isOneServer(answered, context))
  return isDone && isSure ? EXIT.ok : EXIT.failed
}

interface LineOptions {
  readonly out: Output
  readonly hints: Hints
}

/** Whether all was answered as it should be. */
function printScenario(name: string, { id, attempts }: DeliveryView, { out, hints }: LineOptions): boolean {
  const summaries = attempts.map(summaryOf)
  attempts.forEach((attempt) => {
    out.print(attempt, attemptLine(summaryOf(attempt), out, { delivery: id, hints }))
  })
  const judgement = judgeScenario(name, summaries)
  printJudgement(judgement, out)
  return judgement.passed
}

/** The lines of a delivery. Without `wait` they have no attempts, because an answer might be there by chance only. */
function lines(delivery: DeliveryView, wait: boolean, { out, hints }: LineOptions): string {
  const { id, type, status, reason, endpoint, attempts } = delivery
  const skipped =
    status === 'skipped'
      ? [
          `    ${out.colors.magenta(`skipped: ${printable(reason ?? '')}`)}`,
          ...(reason?.includes('disabled')
            ? [`    ${out.colors.bold(`To enable it: ${out.program} endpoints enable ${endpoint}`)}`]
            : []),
        ]
      : []
  return [
    `${out.colors.cyan('-->')} ${printable(type)} [${id}]`,
    ...skipped,
    ...(wait ? attempts : []).map((attempt) => attemptLine(summaryOf(attempt), out, { hints })),
  ].join('\n')
}
