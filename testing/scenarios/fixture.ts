import { type Secret, signPayload } from '../../src/index.js'
import { checkedClock, systemClock } from '../../src/lib/clock.js'
import { checkTolerance, DEFAULT_TOLERANCE_SECONDS, signatureScheme } from '../../src/signature/scheme.js'
import { type SignedBody, type SigningOptions, signedBody } from '../deliveries/signed-delivery.js'
import { type TestDelivery, testDelivery } from '../deliveries/test-delivery.js'
import { unknownEvents } from './forged-parts.js'

/** How the service of a scenario signs, and how far the receiver lets its clock be off. */
export interface StageOptions extends Pick<SigningOptions, 'secret' | 'signature' | 'now'> {
  /** How far its `t` may be from now, in seconds. Default 300, as the receiver's. */
  toleranceSeconds?: number | undefined
}

/** What the deliveries of scenarios are made of. */
export interface Stage {
  /** The kind of the events. */
  readonly kind: string
  readonly secrets: readonly Secret[]
  readonly toleranceSeconds: number
  /** Past the tolerance, by more than a slow test takes. */
  readonly pastSeconds: number
  /** The JSON of a genuine event: each time of another one, where there are more. */
  event(): string
  /** The event of `duplicate`: what is forged of it must not keep it out. */
  awaited(): string
  /** The JSON of events of kinds that nobody handles. */
  unknown(): readonly [string, ...string[]]
  /** Signed as the service signs it, or by another secret. */
  sign(body: string, secret?: SigningOptions['secret']): Promise<SignedBody>
  /** The same body, signed so many seconds from now. */
  signIn(seconds: number, delivery: SignedBody): Promise<SignedBody>
  withHeader(delivery: TestDelivery, header?: string): TestDelivery
  withBody(delivery: TestDelivery, body: string): TestDelivery
}

const MARGIN_SECONDS = 60

/**
 * @param event gives the JSON of a genuine event of the kind
 * @throws TypeError when an option makes no sense
 */
export async function setStage(kind: string, event: () => string, options: StageOptions): Promise<Stage> {
  const { secret, signature, now, toleranceSeconds = DEFAULT_TOLERANCE_SECONDS } = options
  const clock = checkedClock(now, systemClock)
  const signing: SigningOptions = { secret, now: clock, ...(signature && { signature }) }
  const { header: headerName } = signatureScheme(signature)
  const pastSeconds = checkTolerance(toleranceSeconds) + MARGIN_SECONDS
  // The secrets are checked where they sign; scenarios look into them before.
  await signPayload('', { secret, ...(signature && { signature }) })
  let awaited: string | undefined
  let unknown: readonly [string, ...string[]] | undefined

  return {
    kind,
    secrets: (Array.isArray(secret) ? secret : [secret]) as readonly Secret[],
    toleranceSeconds,
    pastSeconds,
    event,
    awaited() {
      awaited ??= event()
      return awaited
    },
    unknown() {
      unknown ??= unknownEvents(kind)
      return unknown
    },
    sign: (body, other = secret) => signedBody(body, { ...signing, secret: other }),
    signIn(seconds, delivery) {
      const nowMs = clock()
      if (nowMs + seconds * 1000 < 0) throw tooEarly(nowMs, seconds)
      return delivery.signAgain({ now: () => nowMs + seconds * 1000 })
    },
    withHeader: ({ body }, header) => testDelivery(body, { header, headerName }),
    withBody: ({ header }, body) => testDelivery(body, { header, headerName }),
  }
}

/** Fake clocks begin in 1970 by default. */
function tooEarly(nowMs: number, seconds: number): TypeError {
  return new TypeError(
    `The clock stands at ${new Date(nowMs).toISOString()}, and a delivery of ${-seconds} s earlier would be signed before 1970, which t cannot express: set your fake clock to a date, such as new Date('2026-05-17T14:00:00Z'), or pass now.`,
  )
}
