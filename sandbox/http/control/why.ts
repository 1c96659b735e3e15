import { type Diagnosis, diagnose } from '../../diagnose/diagnose.js'
import type { Attempt, Delivery } from '../../engine/record/records.js'
import { firstWords, quoted } from '../../lib/first-words.js'
import { answerText, outcomeOf } from '../../lib/outcome-of.js'
import type { Service } from '../../service/service.js'
import { expectedAnswer, isRight, scenarioNamed } from '../../service/trigger/scenario-verdicts.js'
import type { WhyView } from './views.js'

const HEADER = 'x-service-signature'

/** Why an attempt ended as it did: the advice, the diagnosis of its signature, and whether a scenario got the expected answer. */
export async function whyJson(service: Service, delivery: Delivery, attempt: Attempt): Promise<WhyView> {
  const scenario = scenarioJson(attempt, delivery)
  return {
    advice: scenario?.passed ? null : adviceOn(attempt),
    signature: signatureJson(await diagnosisOf(service, delivery, attempt), attempt),
    ...(scenario && { scenario }),
  }
}

/** The hint, and the first words of the answer where it does not quote them. */
function adviceOn({ hint, error, response }: Attempt): string | null {
  const advice = hint ?? error?.message ?? null
  if (advice === null || response === undefined || outcomeOf(response.body) !== undefined) return advice
  const words = firstWords(response)
  return words === undefined || advice.includes(quoted(words))
    ? advice
    : `${advice} It answered: ${quoted(words)}.`
}

/** Diagnoses a delivery with the secrets that its endpoint has now; undefined without them, or without the exact body. */
async function diagnosisOf(
  { engine, signature, clock, signingNow }: Service,
  { message, endpointId }: Delivery,
  attempt: Attempt,
): Promise<Diagnosis | undefined> {
  if (attempt.inexact) return undefined
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

/** Whether to advise on the signature: not if a scenario made it invalid on purpose, nor if the sandbox signed it itself. */
function signatureJson(diagnosis: Diagnosis | undefined, { trigger }: Attempt): WhyView['signature'] {
  if (diagnosis === undefined) return null
  const { findings } = diagnosis
  if (diagnosis.valid) return { valid: true, age_seconds: diagnosis.ageSeconds, findings }
  const { code } = diagnosis
  const reason =
    trigger === 'scenario'
      ? 'The scenario made it so.'
      : code === 'signature_mismatch'
        ? 'It was signed with a secret that the endpoint no longer has.'
        : diagnosis.reason
  return { valid: false, code, reason, findings: [] }
}

/** The answer that a scenario expects, and whether it came; undefined without a scenario. */
function scenarioJson(attempt: Attempt, { message, status, attempts }: Delivery): WhyView['scenario'] {
  const scenario = scenarioNamed(attempt.scenario)
  if (scenario === undefined) return undefined
  const isPassed = (one: Attempt): boolean => status === 'passed' || isRight(scenario, one, message)
  const wrong = attempts.filter((one) => one.trigger === 'scenario' && !isPassed(one))
  const note =
    wrong.length > 0
      ? `Another answer was wrong: that to attempt ${wrong.map(({ number }) => number).join(', ')}.`
      : 'None of the answers says that the event was handled.'
  return {
    name: scenario.name,
    description: scenario.description,
    expected: expectedAnswer(scenario).says,
    got: answerText(attempt),
    passed: isPassed(attempt),
    ...(status === 'wrong_answer' && isPassed(attempt) && { note }),
  }
}
