import { type AnyEvent, type HandlerContext, memoryStore, type WebhookOptions } from '../../src/index.js'
import { bytesOf } from '../deliveries/streamed-body.js'
import type { TestDelivery } from '../deliveries/test-delivery.js'
import { type Expected, faultOf, isAnswer, shortened } from './expected-answer.js'
import type { AdapterAnswer, AdapterHarness, MountedAdapter } from './harness.js'

/** The secret of the endpoint, and another one. */
export const SECRET = 'whsec_of_the_adapter_cases'
export const OTHER_SECRET = 'whsec_of_another_adapter_case'

/** What errors say in the cases: nobody outside may read it. */
export const INSIDE = 'no seats left in row 7'

const HIDDEN = [SECRET, OTHER_SECRET, INSIDE]

const DEFAULT_TIMEOUT_SECONDS = 4

/** Any delivery of the kit. */
export type AnyDelivery = TestDelivery<string | Uint8Array>

/** One call of the handler. */
export interface Run {
  readonly event: AnyEvent
  readonly ctx: HandlerContext
}

/** What a case sets, over an endpoint that handles `order.created`. */
export type CaseOptions = Partial<WebhookOptions> & {
  /** What the handler of `order.created` does. Default: nothing, and that successfully. */
  handle?: (event: AnyEvent, ctx: HandlerContext) => unknown
}

/** An endpoint of a case. */
export interface Endpoint {
  /** The calls of the handler so far. */
  readonly runs: readonly Run[]
  /** Sends a delivery; fails unless an answer comes. */
  send(told: string, delivery: AnyDelivery): Promise<AdapterAnswer>
  /** Fails unless the answer is that of one of the outcomes. */
  judge(told: string, answer: AdapterAnswer, ...expected: Expected[]): void
  /** Sends a delivery; fails unless the answer is that of the outcome, and the handler ran as the outcome says: once, or not. */
  answers(told: string, delivery: AnyDelivery, expected: Expected): Promise<void>
  /** Sends a delivery; fails unless it is handled, and the handler got its exact bytes, and the event that JSON.parse makes of them. */
  handsOn(told: string, delivery: AnyDelivery): Promise<void>
}

/** One run of one case on one adapter. */
export interface Trial {
  mount(options?: CaseOptions): Promise<Endpoint>
  /** Fails unless it holds. */
  demand(holds: boolean, message: string): void
  /** Closes all that was mounted. */
  close(): Promise<void>
}

/** The outcomes that a handler has a part in. */
const RAN: readonly string[] = ['handled', 'discarded', 'failed', 'retry-later', 'timed-out']

export function startTrial({ id, name }: { id: string; name: string }, harness: AdapterHarness): Trial {
  const mounted: MountedAdapter[] = []
  const timeoutMs = (harness.timeoutSeconds ?? DEFAULT_TIMEOUT_SECONDS) * 1000

  function failure(message: string, cause?: unknown): Error {
    return new Error(`case ${id}: ${message}.\nAn adapter ${name}`, { cause })
  }

  function demand(holds: boolean, message: string): void {
    if (!holds) throw failure(message)
  }

  /** What the app does, which may hang or reject. */
  async function inTime<T>(work: () => Promise<T>, expectation: string): Promise<T> {
    let timer: ReturnType<typeof setTimeout> | undefined
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(
        () => reject(failure(`${expectation}, but there was none in ${timeoutMs / 1000} s`)),
        timeoutMs,
      )
    })
    const working = (async () => work())().catch((cause) => {
      throw failure(
        `${expectation}, but it was rejected: ${cause instanceof Error ? cause.message : String(cause)}`,
        cause,
      )
    })
    return Promise.race([working, late]).finally(() => clearTimeout(timer))
  }

  async function mount({ handle, ...options }: CaseOptions = {}): Promise<Endpoint> {
    const runs: Run[] = []
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
      // Some cases send a kind that nobody wants, which is logged where nobody listens.
      onDelivery: () => {},
      onError: (error) => void reports.push(error instanceof Error ? error.message : String(error)),
      ...options,
    })
    checkMounted(app)
    mounted.push(app)

    const reported = (): string => (reports.length === 0 ? '' : `. The receiver reported: ${reports.at(-1)}`)

    const endpoint: Endpoint = {
      runs,
      async send(told, delivery) {
        const answer = await inTime(() => app.send(delivery), `${told}: expected an answer`)
        checkAnswer(answer)
        return answer
      },
      judge(told, answer, ...expected) {
        const fault = faultOf(answer, expected, HIDDEN)
        demand(fault === undefined, `${told}: ${fault}${reported()}`)
      },
      async answers(told, delivery, expected) {
        const outcome = typeof expected === 'string' ? expected : expected.outcome
        const before = runs.length
        const due = RAN.includes(outcome) ? 1 : 0
        endpoint.judge(told, await endpoint.send(told, delivery), expected)
        const ran = runs.length - before
        demand(ran === due, `${told}: expected the handler to run ${due} ×, but it ran ${ran} ×${reported()}`)
      },
      async handsOn(told, delivery) {
        await endpoint.answers(told, delivery, 'handled')
        const fault = faultOfRun(runs.at(-1), bytesOf(delivery.body))
        demand(fault === undefined, `${told}: ${fault}`)
      },
    }
    return endpoint
  }

  async function close(): Promise<void> {
    const closing = mounted.map((app) => inTime(() => app.close(), 'expected the app to close'))
    // To the end, so that one that does not close keeps no other open.
    const ends = await Promise.allSettled(closing)
    for (const end of ends) if (end.status === 'rejected') throw end.reason
  }

  return { mount, demand, close }
}

/** Says what is wrong with what a handler got of a body, or nothing. */
export function faultOfRun(run: Run | undefined, sent: Uint8Array): string | undefined {
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
