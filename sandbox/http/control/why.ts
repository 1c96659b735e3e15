import { SCENARIOS, type ScenarioInfo } from 'tix-webhooks/testing'
import { type Diagnosis, diagnose } from '../../diagnose/diagnose.js'
import { isSuccess } from '../../engine/attempts.js'
import type { Attempt, Delivery } from '../../engine/record/records.js'
import { isSuccessStatus } from '../../lib/is-success-status.js'
import type { Service } from '../../service/service.js'
import type { WhyView } from './views.js'

const HEADER = 'x-service-signature'

/** The answer expected for each kind of delivery, and the test of a status for it. */
const OWED: Readonly<Record<ScenarioInfo['verdict'], { says: string; isMet: (status: number) => boolean }>> =
  {
    genuine: { says: '2xx', isMet: isSuccessStatus },
    unknown: { says: '2xx', isMet: isSuccessStatus },
    forged: { says: '4xx', isMet: (status) => status >= 400 && status < 500 && status !== 429 },
    unusable: { says: 'anything but 2xx', isMet: (status) => !isSuccessStatus(status) },
  }

/** While one of them is being handled, the others may be asked to come later. */
const OWED_TO_A_BURST = {
  says: '2xx, or 409, 425, 429 or 503 while another one is handled',
  isMet: (status: number) => isSuccessStatus(status) || [409, 425, 429, 503].includes(status),
}

/** Why an attempt ended as it did: what to do, what is to be said of its signature, and whether a scenario got what it is owed. */
export async function whyJson(service: Service, delivery: Delivery, attempt: Attempt): Promise<WhyView> {
  const scenario = scenarioJson(attempt)
  return {
    advice:
      isSuccess(attempt) || scenario?.is_right ? null : (attempt.hint ?? attempt.error?.message ?? null),
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
export function scenarioJson({ scenario, response, error }: Attempt) {
  const info = SCENARIOS.find(({ name }) => name === scenario)
  if (info === undefined) return undefined
  const owed = info.isBurst ? OWED_TO_A_BURST : OWED[info.verdict]
  return {
    name: info.name,
    description: info.description,
    owed: owed.says,
    did: String(response?.status ?? error?.code),
    is_right: response !== undefined && owed.isMet(response.status),
  }
}
