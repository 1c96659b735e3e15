import { type Secret, signPayload } from '../../src/index.js'
import {
  checkedClock,
  checkTolerance,
  DEFAULT_TOLERANCE_SECONDS,
  signatureScheme,
  systemClock,
} from '../../src/internal.js'
import { type SignedBody, type SigningOptions, signedBody } from '../deliveries/signed-delivery.js'
import { type TestDelivery, testDelivery } from '../deliveries/test-delivery.js'
import { unknownEvents } from './refused-parts.js'

/** The options of your receiver that its scenarios depend on: how a delivery is signed, and how old a signature may be. */
export interface ScenarioSigning extends Pick<SigningOptions, 'secret' | 'signature' | 'now'> {
  /** The most that `t` may differ from now, in seconds. Default 300, as the receiver's. */
  toleranceSeconds?: number | undefined
}

/** The source of a scenario: genuine events of your own, and how the service signs them. */
export interface ScenarioSource extends ScenarioSigning {
  /** The JSON of a genuine event, or a function that returns the JSON of a new event of the same kind at each call. */
  body: string | (() => string)
}

/** The options of the scenarios of a kind. */
export interface ScenarioOptions extends ScenarioSigning {
  /** Events of your own, as in `ScenarioSource`: of a kind that is not documented, or for a schema of yours. Default: a new sample at each call. */
  body?: ScenarioSource['body'] | undefined
  /** `refused` keeps only the forged and unusable deliveries, which may be neither acknowledged nor run. Default: all. */
  only?: 'refused' | undefined
}

/** The parts that the deliveries of scenarios are made of. */
export interface Fixture {
  /** The kind of the events. */
  readonly kind: string
  readonly secrets: readonly Secret[]
  readonly toleranceSeconds: number
  /** Seconds past the tolerance, by more than a slow test takes. */
  readonly pastSeconds: number
  /** The JSON of a genuine event; of another one at each call, if the source has more. */
  event(): string
  /** The event of `duplicate`, for forgeries of it: they must not keep the genuine one out. */
  awaited(): string
  /** The JSON of events of kinds without a handler. */
  unknown(): readonly [string, ...string[]]
  /** Signs as the service does, or with another secret. */
  sign(body: string, secret?: SigningOptions['secret']): Promise<SignedBody>
  /** Signs the same body again, `seconds` from now. */
  signIn(seconds: number, delivery: SignedBody): Promise<SignedBody>
  withHeader(delivery: TestDelivery, header?: string): TestDelivery
  withBody(delivery: TestDelivery, body: string): TestDelivery
}

const MARGIN_SECONDS = 60

/**
 * @param event returns the JSON of a genuine event of the kind
 * @throws TypeError when an option is invalid
 */
export async function createFixture(
  kind: string,
  event: () => string,
  options: ScenarioSigning,
): Promise<Fixture> {
  const { secret, signature, now, toleranceSeconds = DEFAULT_TOLERANCE_SECONDS } = options
  const clock = checkedClock(now, systemClock)
  const signing: SigningOptions = { secret, now: clock, ...(signature && { signature }) }
  const { header: headerName } = signatureScheme(signature)
  const pastSeconds = checkTolerance(toleranceSeconds) + MARGIN_SECONDS
  // Signing checks the secrets, and scenarios read them before they sign.
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
    withHeader({ body, headers }, header) {
      const { [headerName]: _, ...others } = headers
      return testDelivery(
        body,
        header === undefined ? others : { ...others, [headerName]: header },
        headerName,
      )
    },
    withBody: ({ headers }, body) => testDelivery(body, headers, headerName),
  }
}

/** Fake clocks start in 1970 by default. */
function tooEarly(nowMs: number, seconds: number): TypeError {
  return new TypeError(
    `The clock stands at ${new Date(nowMs).toISOString()}, and a delivery of ${-seconds} s earlier would be signed before 1970, which t cannot express: set your fake clock to a date, such as new Date('2026-05-17T14:00:00Z'), or pass now.`,
  )
}
