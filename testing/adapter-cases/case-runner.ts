import { type AnyEvent, type HandlerContext, memoryStore, type WebhookOptions } from '../../src/index.js'
import { messageOf, within } from '../../src/internal.js'
import { bytesOf } from '../deliveries/streamed-body.js'
import type { TestDelivery } from '../deliveries/test-delivery.js'
import { type ExpectedOutcome, faultOf, isAnswer, shortened } from './expected-answer.js'
import type { AdapterAnswer, AdapterHarness, MountedAdapter } from './harness.js'

/** The secret of the endpoint. */
export const SECRET = 'whsec_of_the_adapter_cases'
export const OTHER_SECRET = 'whsec_of_another_adapter_case'

/** The message of errors in the cases, which no answer may reveal. */
export const INTERNAL = 'no seats left in row 7'

const HIDDEN = [SECRET, OTHER_SECRET, INTERNAL]

const DEFAULT_TIMEOUT_SECONDS = 4

/** Any delivery of the kit. */
export type AnyDelivery = TestDelivery<string | Uint8Array>

/** One run of the handler. */
export interface HandlerRun {
  readonly event: AnyEvent
  readonly ctx: HandlerContext
}

/** Options of a case beside those of an endpoint that handles `order.created`. */
type CaseOptions = Partial<WebhookOptions> & {
  /** The handler of `order.created`. Default: one that returns at once. */
  handle?: (event: AnyEvent, ctx: HandlerContext) => unknown
}

/** A mounted endpoint. */
interface Endpoint {
  /** The runs of the handler so far. */
  readonly runs: readonly HandlerRun[]
  /** Sends a delivery, and fails if there is no answer. */
  send(label: string, delivery: AnyDelivery): Promise<AdapterAnswer>
  /** Fails unless the answer is that of one of the outcomes. */
  expectOutcome(label: string, answer: AdapterAnswer, ...expected: ExpectedOutcome[]): void
  /** Sends a delivery, and fails unless the answer is that of the outcome, and the handler ran once or not at all, as the outcome implies. */
  expectAnswer(label: string, delivery: AnyDelivery, expected: ExpectedOutcome): Promise<void>
  /** Sends a delivery, and fails unless it is handled, with its exact bytes and the event that JSON.parse makes of them. */
  expectHandledWhole(label: string, delivery: AnyDelivery): Promise<void>
}

/** Runs one case on one adapter. */
export interface AdapterCaseRunner {
  mount(options?: CaseOptions): Promise<Endpoint>
  /** Fails with the message unless the condition holds. */
  demand(condition: boolean, message: string): void
  /** Closes everything that was mounted. */
  close(): Promise<void>
}

/** The outcomes for which the handler runs. */
const RAN: readonly string[] = ['handled', 'discarded', 'failed', 'retry_later', 'timed_out']

export function createCaseRunner(
  { id, name }: { id: string; name: string },
  harness: AdapterHarness,
): AdapterCaseRunner {
  const mounted: MountedAdapter[] = []
  const timeoutMs = (harness.timeoutSeconds ?? DEFAULT_TIMEOUT_SECONDS) * 1000

  function failure(message: string, cause?: unknown): Error {
    return new Error(`case ${id}: ${message}.\nAn adapter ${name}`, { cause })
  }

  function demand(condition: boolean, message: string): void {
    if (!condition) throw failure(message)
  }

  /** @throws Error when the work rejects, or takes longer than the harness allows */
  async function inTime<T>(work: () => Promise<T>, expectation: string): Promise<T> {
    const working = (async () => work())().catch((cause) => {
      throw failure(`${expectation}, but it was rejected: ${messageOf(cause)}`, cause)
    })
    return within(working, timeoutMs, () => {
      throw failure(`${expectation}, but there was none within ${timeoutMs / 1000} s`)
    })
  }

  async function mount({ handle, ...options }: CaseOptions = {}): Promise<Endpoint> {
    const runs: HandlerRun[] = []
    const reports: string[] = []
    const app = await harness.mount({
      secret: SECRET,
      on: {
        'order.created': (event, ctx) => {
          runs.push({ event, ctx })
          return handle?.(event, ctx)
        },
      },
      store: memoryStore(),
      namespace: 'adapter-cases',
      // Without it, the receiver logs kinds that have no handler, and some cases send one.
      onDelivery: () => {},
      onError: (error) => void reports.push(messageOf(error)),
      ...options,
    })
    checkMounted(app)
    mounted.push(app)

    const reported = (): string => (reports.length === 0 ? '' : `. The receiver reported: ${reports.at(-1)}`)

    const endpoint: Endpoint = {
      runs,
      async send(label, delivery) {
        const answer = await inTime(() => app.send(delivery), `${label}: expected an answer`)
        checkAnswer(answer)
        return answer
      },
      expectOutcome(label, answer, ...expected) {
        const fault = faultOf(answer, expected, HIDDEN)
        demand(fault === undefined, `${label}: ${fault}${reported()}`)
      },
      async expectAnswer(label, delivery, expected) {
        const outcome = typeof expected === 'string' ? expected : expected.outcome
        const before = runs.length
        const due = RAN.includes(outcome) ? 1 : 0
        endpoint.expectOutcome(label, await endpoint.send(label, delivery), expected)
        const ran = runs.length - before
        demand(
          ran === due,
          `${label}: expected the handler to run ${due} ×, but it ran ${ran} ×${reported()}`,
        )
      },
      async expectHandledWhole(label, delivery) {
        await endpoint.expectAnswer(label, delivery, 'handled')
        const fault = faultOfRun(runs.at(-1), bytesOf(delivery.body))
        demand(fault === undefined, `${label}: ${fault}`)
      },
    }
    return endpoint
  }

  async function close(): Promise<void> {
    const closing = mounted.map((app) => inTime(() => app.close(), 'expected the app to close'))
    // All of them, even if one does not close.
    const ends = await Promise.allSettled(closing)
    for (const end of ends) if (end.status === 'rejected') throw end.reason
  }

  return { mount, demand, close }
}

/** The fault of the body that a handler got, or undefined. */
export function faultOfRun(run: HandlerRun | undefined, sent: Uint8Array): string | undefined {
  const { rawBody } = run?.ctx ?? {}
  if (rawBody?.length !== sent.length || !sent.every((byte, index) => rawBody[index] === byte)) {
    return `expected ctx.rawBody to be the ${sent.length} bytes that were sent, but it was ${rawBody?.length} bytes that differ`
  }
  const event = JSON.stringify(run?.event)
  const parsed = JSON.stringify(JSON.parse(new TextDecoder().decode(sent)))
  if (event !== parsed) return `expected the event ${shortened(parsed)}, but it was ${shortened(event)}`
  return undefined
}

function checkMounted(app: MountedAdapter): void {
  for (const method of ['send', 'close'] as const) {
    if (typeof app?.[method] === 'function') continue
    throw new TypeError(
      `The harness's mount() resolved to something without a ${method} function: it must resolve to { send, close }.`,
    )
  }
}

function checkAnswer(answer: unknown): void {
  if (isAnswer(answer)) return
  throw new TypeError(
    "The harness's send() did not resolve to an answer: it must resolve to { status, headers, text }: a number, the headers by name, and the body as a string.",
  )
}
