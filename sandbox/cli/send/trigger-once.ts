import { signedBody } from 'tix-webhooks/testing'
import { isHandled } from '../../internal.js'
import type { Context } from '../arguments/command.js'
import { scenarioForAnyReceiver } from '../check/scenario-deliveries.js'
import type { AttemptSummary } from '../client/attempt-summary.js'
import { isOneServer } from '../client/two-servers.js'
import { asUsage, EXIT, type ExitCode } from '../failure.js'
import { attemptLine, hintsOnce } from '../render/attempt-lines.js'
import { printable } from '../terminal/output.js'
import { judgeScenario, printJudgement } from './judge-scenario.js'
import { type EventRequest, eventMaker } from './made-up-events.js'
import { type Destination, type OneDelivery, onceSender } from './send-once.js'
import { signatureOptions } from './signing.js'

/** A trigger without a sandbox. */
export interface OnceRequest extends EventRequest {
  readonly scenario: string | undefined
  readonly repeat: number
  readonly signature: 'dot' | 'concat' | 'body'
}

/** Signs samples, sends each once, and says whether the answers are as they should be. */
export async function triggerOnce(
  { scenario, repeat, signature, ...request }: OnceRequest,
  destination: Destination,
  { io, out }: Context,
): Promise<ExitCode> {
  const makeEvent = await eventMaker(request)
  const signing = { secret: destination.secret, signature: signatureOptions(signature) }
  const sendThere = onceSender(destination, io.signal)
  const hints = hintsOnce()
  let isAsExpected = true
  const attempts: AttemptSummary[] = []

  const send = async (delivery: OneDelivery): Promise<AttemptSummary> => {
    const attempt = { ...(await sendThere(delivery)), scenario }
    const { durationMs, ...summary } = attempt
    out.print(
      {
        kind: request.kind,
        headers: delivery.headers,
        body: delivery.body,
        ...summary,
        duration_ms: Math.round(durationMs),
      },
      `${out.colors.cyan('-->')} ${printable(request.kind)}\n${attemptLine(attempt, out, { hints })}`,
    )
    attempts.push(attempt)
    return attempt
  }

  for (let count = 0; count < repeat; count += 1) {
    if (scenario === undefined) {
      const delivery = await asUsage(() => signedBody(makeEvent(), signing))
      isAsExpected = isHandled((await send(delivery)).response) && isAsExpected
    } else {
      const played = await asUsage(() => scenarioForAnyReceiver(scenario, { ...signing, body: makeEvent }))
      const judgement = judgeScenario(scenario, await played.deliver(send))
      printJudgement(judgement, out)
      isAsExpected &&= judgement.passed
    }
  }
  const isSure = await isOneServer(attempts, { io, out })
  return isAsExpected && isSure ? EXIT.ok : EXIT.failed
}
