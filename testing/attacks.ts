import { checkedClock, systemClock } from '../src/clock.js'
import { answerTo, type EventKind, type OutcomeName, type Secret } from '../src/index.js'
import { checkOptionNames } from '../src/option-names.js'
import { checkTolerance, DEFAULT_TOLERANCE_SECONDS, signatureScheme } from '../src/signature-scheme.js'
import {
  cutSignatures,
  malformedHeaders,
  nearMiss,
  notEnvelopes,
  tamperedBodies,
  unknownEvents,
} from './forgeries.js'
import { checkSend } from './retries.js'
import {
  type AnyOptions,
  type ExactOptions,
  makeEvent,
  type SampleOptions,
  type Undocumented,
} from './sample-event.js'
import { type SignedBody, type SigningOptions, signedBody } from './signed-delivery.js'
import { type TestDelivery, testDelivery } from './test-delivery.js'

/** Deliveries that a receiver must refuse, or absorb. */
export interface Attack {
  readonly name: AttackName
  /** In the order in which they are sent. */
  readonly deliveries: readonly TestDelivery[]
  readonly expect: {
    /** What each of the answers may have as its status. */
    readonly statuses: readonly number[]
    /** How often the handler of the kind must have run when all are answered. */
    readonly runs: number
  }
  /** Sends the deliveries as the attack wants it, one after the other or all at once, and gives the answers in their order. */
  deliver<Answer>(send: (delivery: TestDelivery) => Answer): Promise<Awaited<Answer>[]>
}

export type AttackName =
  | 'missing header'
  | 'malformed header'
  | 'tampered byte'
  | 're-serialised body'
  | 'wrong secret'
  | 'stale'
  | 'future'
  | 'truncated'
  | "other endpoint's secret"
  | 'empty body'
  | 'not JSON'
  | 'not an envelope'
  | 'duplicate'
  | 'concurrent burst'
  | 'unknown kind'

/** What the receiver under attack is like. */
export interface AttackOptions extends Pick<SigningOptions, 'secret' | 'signature' | 'now'> {
  /** How far its `t` may be from now, in seconds. Default 300, as the receiver's. */
  toleranceSeconds?: number
}

const OPTION_NAMES = ['secret', 'signature', 'now', 'toleranceSeconds', 'data', 'exact']

/** Past the tolerance by more than a slow test takes. */
const MARGIN_SECONDS = 60
const BURST = 12

/** Attacks with events of any kind, with their data as you give it. */
export function attacks(
  kind: string,
  options: AttackOptions & Pick<ExactOptions<object>, 'data'> & { exact: true },
): Promise<readonly Attack[]>
/** Attacks with events of any kind, with their data as you give it. */
export function attacks<Kind extends string>(
  kind: Kind & Undocumented<Kind>,
  options: AttackOptions & Pick<ExactOptions<object>, 'data' | 'exact'>,
): Promise<readonly Attack[]>
/**
 * What the internet, and an honest sender on a bad day, may send to your endpoint: deliveries that it must refuse or absorb, each
 * with what it must answer. Loop over them against your own app.
 *
 * They do not disturb each other, in whatever order you send them: what must run has an event of its own, on every call. Your `data`
 * is in all of them, so a `key` of yours must not be made of it alone. Where your app has an `onUnhandled`, it gets the events of
 * unknown kinds. On a store that outlives the test, give each run a `namespace` of its own: the samples begin anew in each process.
 *
 * @param kind a kind that your app handles
 * @returns the attacks, in the order of `AttackName`
 * @throws TypeError that names the field or the option that is wrong
 * @example
 * ```ts
 * import { tixWebhooks } from 'tix-webhooks/fetch'
 * import { attacks } from 'tix-webhooks/testing'
 *
 * const secret = 'whsec_test'
 * let runs = 0
 * const POST = tixWebhooks({ secret, on: { 'order.created': () => void runs++ }, onError: () => {} })
 *
 * for (const { name, deliver, expect } of await attacks('order.created', { secret })) {
 *   runs = 0
 *   const answers = await deliver((delivery) => POST(delivery.toRequest('/hooks')))
 *   console.assert(answers.every(({ status }) => expect.statuses.includes(status)) && runs === expect.runs, name)
 * }
 * ```
 */
export function attacks<Kind extends EventKind>(
  kind: Kind,
  options: AttackOptions & Pick<SampleOptions<Kind>, 'data' | 'exact'>,
): Promise<readonly Attack[]>
export async function attacks(
  kind: string,
  options: AttackOptions & Pick<AnyOptions, 'data' | 'exact'>,
): Promise<readonly Attack[]> {
  checkOptionNames(options, OPTION_NAMES)
  if (kind === 'order.created') checkDistinct(options)
  const {
    data,
    exact = false,
    secret,
    signature,
    now,
    toleranceSeconds = DEFAULT_TOLERANCE_SECONDS,
  } = options
  const clock = checkedClock(now, systemClock)
  const signing: SigningOptions = { secret, now: clock, ...(signature && { signature }) }
  const scheme = signatureScheme(signature)
  const pastSeconds = checkTolerance(toleranceSeconds) + MARGIN_SECONDS

  /** What the service would send: each time of an event of its own. */
  const genuine = (spaces?: number): Promise<SignedBody> =>
    signedBody(
      JSON.stringify(makeEvent(kind, { ...(data !== undefined && { data }), exact }), null, spaces),
      signing,
    )
  const authentic = (bodies: readonly string[]) =>
    Promise.all(bodies.map((body) => signedBody(body, signing)))
  const withHeader = ({ body }: TestDelivery, header?: string) =>
    testDelivery(body, { header, headerName: scheme.header })
  const withBody = ({ header }: TestDelivery, body: string) =>
    testDelivery(body, { header, headerName: scheme.header })
  const signedBy = (other: Secret, body: string) => signedBody(body, { ...signing, secret: other })
  const signedIn = (seconds: number, delivery: SignedBody) =>
    delivery.signAgain({ now: () => clock() + seconds * 1000 })

  const headless = await genuine()
  const tampered = await genuine()
  const compact = await genuine()
  const pretty = await genuine(2)
  const cut = await genuine()
  const repeated = await genuine()
  const burst = await genuine()
  const [unknown = '', ...moreUnknown] = unknownEvents(kind)

  return [
    refused('missing header', 'malformed', [
      withHeader(headless),
      withHeader(headless, ''),
      // Whoever looks at the kind first has nothing to do, and says so to a stranger.
      withHeader(withBody(headless, unknown)),
    ]),
    refused(
      'malformed header',
      'malformed',
      malformedHeaders(headless.header).map((header) => withHeader(headless, header)),
    ),
    refused(
      'tampered byte',
      'unauthenticated',
      tamperedBodies(tampered.body).map((body) => withBody(tampered, body)),
    ),
    // Both ways: a receiver that verifies what it has parsed and written again takes the second.
    refused('re-serialised body', 'unauthenticated', [
      withBody(pretty, JSON.stringify(JSON.parse(pretty.body))),
      withBody(compact, JSON.stringify(JSON.parse(compact.body), null, 2)),
    ]),
    refused('wrong secret', 'unauthenticated', [
      // A forgery of an event that is yet to come must not keep it out: see `duplicate`.
      await signedBy(nearMiss(secret), repeated.body),
      await signedBy(nearMiss(secret), unknown),
    ]),
    refused('stale', 'unauthenticated', [await signedIn(-pastSeconds, await genuine())]),
    refused('future', 'unauthenticated', [await signedIn(pastSeconds, await genuine())]),
    refused('truncated', 'unauthenticated', [
      withBody(cut, cut.body.slice(0, -1)),
      withBody(cut, cut.body.slice(0, cut.body.length / 2)),
      ...cutSignatures(cut.header).map((header) => withHeader(cut, header)),
    ]),
    refused("other endpoint's secret", 'unauthenticated', [
      await signedBy('whsec_of_another_endpoint', (await genuine()).body),
    ]),
    refused('empty body', 'unauthenticated', [withBody(cut, '')]),
    refused('not JSON', 'unprocessable', await authentic(['', 'not JSON', '{"type":'])),
    refused('not an envelope', 'unprocessable', await authentic(notEnvelopes(kind))),
    absorbed('duplicate', ['handled', 'duplicate'], 1, [
      repeated,
      repeated,
      // A second later, as far as the tolerance has one: within the same second the signature would be the same.
      await signedIn(Math.min(1, Math.floor(toleranceSeconds)), repeated),
    ]),
    {
      ...absorbed('concurrent burst', ['handled', 'duplicate', 'in-flight'], 1, Array(BURST).fill(burst)),
      async deliver(send) {
        checkSend(send)
        return Promise.all(Array.from({ length: BURST }, () => send(burst)))
      },
    },
    absorbed('unknown kind', ['unhandled'], 0, await authentic([unknown, ...moreUnknown])),
  ]
}

function refused(name: AttackName, outcome: OutcomeName, deliveries: readonly TestDelivery[]): Attack {
  return absorbed(name, [outcome], 0, deliveries)
}

function absorbed(
  name: AttackName,
  outcomes: readonly OutcomeName[],
  runs: number,
  deliveries: readonly TestDelivery[],
): Attack {
  const statuses = [...new Set(outcomes.map((outcome) => answerTo({ outcome }).status))]
  return {
    name,
    deliveries,
    expect: { statuses, runs },
    async deliver(send) {
      checkSend(send)
      const answers = []
      for (const delivery of deliveries) answers.push(await send(delivery))
      return answers
    },
  }
}

/** Orders are known by their ids: attacks that share one would be duplicates of each other. */
function checkDistinct({ data }: { data?: unknown }): void {
  const { order } = (data ?? {}) as { order?: { id?: unknown } }
  if (order?.id === undefined) return
  throw new TypeError('data.order.id cannot be set: each attack needs an order of its own. Leave it out.')
}
