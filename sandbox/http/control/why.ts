import { type Diagnosis, diagnose } from '../../diagnose/diagnose.js'
import type { Attempt, Delivery, Message } from '../../engine/record/records.js'
import { answerText } from '../../lib/outcome-of.js'
import { expectedAnswer, isRight, scenarioNamed } from '../../service/scenario-verdicts.js'
import type { Service } from '../../service/service.js'
import type { WhyView } from './views.js'

const HEADER = 'x-service-signature'

/** Why an attempt ended as it did: what to do, what is to be said of its signature, and whether a scenario got the answer that it expects. */
export async function whyJson(service: Service, delivery: Delivery, attempt: Attempt): Promise<WhyView> {
  const scenario = scenarioJson(attempt, delivery.message)
  return {
    advice: scenario?.passed ? null : (attempt.hint ?? attempt.error?.message ?? null),
    signature: signatureJson(await diagnosisOf(service, delivery, attempt)),
    ...(scenario && { scenario }),
  }
}

/** Diagnoses a delivery with the secrets that its endpoint has now; undefined if the endpoint was removed. */
async function diagnosisOf(
  { engine, signature, clock, signingNow }: Service,
  { message, endpointId }: Delivery,
  attempt: Attempt,
): Promise<Diagnosis | undefined> {
  const { secrets = [] } = engine.endpoint(endpointId) ?? {}
  const sentMs = signingNow === clock.now ? attempt.virtualMs : attempt.realMs
  let first: Diagnosis | undefined
  for (const secret of secrets) {
    const diagnosis = await diagnose({
      secret,
      header: attempt.requestHeaders[HEADER] ?? '',
      body: Buffer.from(attempt.sentBody ?? message.body),
      signature,
      now: () => sentMs,
    })
    if (diagnosis.valid) return diagnosis
    first ??= diagnosis
  }
  return first
}

function signatureJson(diagnosis: Diagnosis | undefined): WhyView['signature'] {
  if (diagnosis === undefined) return null
  const { findings } = diagnosis
  if (diagnosis.valid) return { valid: true, age_seconds: diagnosis.ageSeconds, findings }
  return { valid: false, code: diagnosis.code, reason: diagnosis.reason, findings }
}

/** The answer that a scenario expects, and whether it came; undefined without a scenario. */
function scenarioJson(attempt: Attempt, message: Message): WhyView['scenario'] {
  const scenario = scenarioNamed(attempt.scenario)
  if (scenario === undefined) return undefined
  return {
    name: scenario.name,
    description: scenario.description,
    expected: expectedAnswer(scenario).says,
    got: answerText(attempt),
    passed: isRight(scenario, attempt, message),
  }
}
