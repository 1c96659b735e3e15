import { SCENARIOS, type ScenarioInfo } from 'tix-webhooks/testing'
import { type Diagnosis, diagnose } from '../../diagnose/diagnose.js'
import type { Attempt, AttemptResponse, Delivery } from '../../engine/record/records.js'
import { answerText, isHandled } from '../../lib/outcome-of.js'
import type { Service } from '../../service/service.js'
import type { WhyView } from './views.js'

const HEADER = 'x-service-signature'

/** An answer that is expected. */
interface Owed {
  readonly says: string
  isMet(answer: AttemptResponse): boolean
}

/** The answer expected for each kind of delivery. */
const OWED: Readonly<Record<ScenarioInfo['verdict'], Owed>> = {
  genuine: { says: '2xx', isMet: isHandled },
  unknown: { says: '2xx', isMet: isHandled },
  forged: { says: '4xx', isMet: ({ status }) => status >= 400 && status < 500 && status !== 429 },
  unusable: { says: 'anything but 2xx, unless it is parked', isMet: (answer) => !isHandled(answer) },
}

/** While one of them is being handled, the others may be asked to come later. */
const OWED_TO_A_BURST: Owed = {
  says: '2xx, or 409, 425, 429 or 503 while another one is handled',
  isMet: (answer) => isHandled(answer) || [409, 425, 429, 503].includes(answer.status),
}

/** Why an attempt ended as it did: what to do, what is to be said of its signature, and whether a scenario got what it is owed. */
export async function whyJson(service: Service, delivery: Delivery, attempt: Attempt): Promise<WhyView> {
  const scenario = scenarioJson(attempt)
  return {
    advice: scenario?.is_right ? null : (attempt.hint ?? attempt.error?.message ?? null),
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

/** The answer expected for a scenario, and whether it came; undefined without a scenario. */
export function scenarioJson(attempt: Attempt) {
  const { scenario, response } = attempt
  const info = SCENARIOS.find(({ name }) => name === scenario)
  if (info === undefined) return undefined
  const owed = info.isBurst ? OWED_TO_A_BURST : OWED[info.verdict]
  return {
    name: info.name,
    description: info.description,
    owed: owed.says,
    did: answerText(attempt),
    is_right: response !== undefined && owed.isMet(response),
  }
}
