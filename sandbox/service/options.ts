import type { Assumptions } from './assumptions.js'
import type { RequestRecord } from './request-record.js'
import type { NewEndpoint } from './subscriptions.js'

/** The largest seed, as that of `sampleEvent`. */
export const MAX_SEED = 0xffff_ffff

/** The longest time that an endpoint may be given to answer. */
export const MAX_TIMEOUT_SECONDS = 3600

/** The options of a sandbox. Everything has a default. */
export interface SandboxOptions {
  /** The time at which its clock starts: a `Date`, milliseconds since the epoch, or ISO 8601. Default: now. */
  startAt?: Date | string | number | undefined
  /** Whether time stands still until you advance it. Default true; the command line's sandbox runs. */
  frozen?: boolean | undefined
  /** Makes ids, jitter and generated secrets the same in each run: a whole number from 0 to 4,294,967,295. Default: none, so they differ. */
  seed?: number | undefined
  /** Your receiver, called directly, without a port: what handles a `Request`. Default: endpoints are called over HTTP. */
  deliver?: ((request: Request) => Response | Promise<Response>) | undefined
  /** The initial endpoints, to which webhooks are sent. Default: with `deliver` one endpoint that takes all kinds, else none. */
  endpoints?: readonly NewEndpoint[] | undefined
  /** The secret of an endpoint that has none of its own. Default: a new one for each. */
  secret?: string | undefined
  /**
   * When a failed delivery is tried again: `default` (11 attempts in 72 hours), `quartic` (22 attempts), `fast` (after 1, 2 and 4
   * seconds), or a list such as `5s,1m,1h`, or of seconds, counted from the first attempt.
   */
  retry?: string | readonly number[] | undefined
  /** How much of each gap between attempts is random: 0 to 0.5. Default 0.1. */
  jitter?: number | undefined
  /** The timeout of an endpoint's answer, in seconds; 0 for none: then an advance waits until `reset`. Default 15. */
  timeoutSeconds?: number | undefined
  /** Delivers one after the other, in their order. Default false: as the service, which promises no order. */
  serial?: boolean | undefined
  /** How to read what the specification does not show: see `docs/sandbox.md`. */
  assume?: Partial<Assumptions> | undefined
  /** Spoils deliveries at random: names of scenarios to probabilities, such as `{ duplicate: 0.1 }`. */
  chaos?: Readonly<Record<string, number>> | undefined
  /** The API keys that it takes. Default: any that begins with `sk_test_` or `sk_live_`. */
  keys?: readonly string[] | undefined
  /** Takes parameters that the API does not know, and leaves them out. Default false: they are refused. */
  lenient?: boolean | undefined
  /** Answers 429 over so many requests to the API. Default: none. */
  rateLimit?: { readonly requests: number; readonly perSeconds: number } | undefined
  /** Delivers to addresses of the public internet too. Default false: nothing leaves the machine and its private network. */
  allowPublic?: boolean | undefined
  /** The names, beside those of this machine, under which it may be called. */
  allowHosts?: readonly string[] | undefined
  /** Keeps its state in this file, and goes on from there. One sandbox at a time can use a file. Default: in memory alone. */
  stateFile?: string | undefined
  /**
   * Which time `t` has: `real`, so that a receiver finds fast-forwarded retries fresh, or `virtual`, for a receiver that was given
   * `now: sandbox.clock.now`. Default `real`.
   */
  signingClock?: 'real' | 'virtual' | undefined
  /** Called with warnings for people: a live key, a state file that cannot be written. Default `console.warn`. */
  onWarning?: ((message: string) => void) | undefined
  /** Called with each request to the API, when it is answered: what your code asked for, and which error it got. */
  onRequest?: ((request: RequestRecord) => void) | undefined
}

/** All names of options: a misspelt one would be left out in silence. */
export const OPTION_NAMES: readonly (keyof SandboxOptions)[] = [
  'startAt',
  'frozen',
  'seed',
  'deliver',
  'endpoints',
  'secret',
  'retry',
  'jitter',
  'timeoutSeconds',
  'serial',
  'assume',
  'chaos',
  'keys',
  'lenient',
  'rateLimit',
  'allowPublic',
  'allowHosts',
  'stateFile',
  'signingClock',
  'onWarning',
  'onRequest',
]
