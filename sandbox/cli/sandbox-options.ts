import type { SandboxOptions, Subscription } from '../index.js'
import { ASSUMPTIONS, MAX_SEED, MAX_TIMEOUT_SECONDS } from '../internal.js'
import { readSeconds } from './arguments/durations.js'
import { readKinds } from './arguments/kinds.js'
import { flag, option, repeatable, type Values } from './arguments/options.js'
import { SCENARIO_NAMES } from './arguments/scenario-names.js'
import {
  listOf,
  oneOf,
  pairOf,
  readInstant,
  readPort,
  readShare,
  readText,
  readUrl,
  shareUpTo,
  wholeNumber,
} from './arguments/values.js'
import { DEFAULT_PORT, isLoopback } from './client/find-sandbox.js'
import { UsageError } from './failure.js'
import { SIGNING_OPTIONS } from './send/signing.js'

const MAX_JITTER = 0.5
const MAX_REQUESTS = 1_000_000

const assumptions = Object.entries(ASSUMPTIONS).map(
  ([name, { choices }]) => `${name}=${Object.keys(choices).join('|')}`,
)

/** The options of `tix-webhooks sandbox`. */
export const START_OPTIONS = {
  port: option('PORT', readPort, 'the port to listen on; 0 is any free port', String(DEFAULT_PORT)),
  to: repeatable('URL', readUrl, 'URL of an endpoint; quote it for the shell'),
  events: option('LIST', readKinds, 'kinds that these endpoints take, such as order.created,event.*', '*'),
  secret: SIGNING_OPTIONS.secret,
  state: option('FILE', readText, 'saves its state in this file, and continues from it'),
  'start-at': option(
    'WHEN',
    readInstant,
    'the time at which its clock starts, such as 2026-12-01T19:00:00Z (default: now)',
  ),
  freeze: flag('its clock stands still until advance moves it'),
  seed: option('N', wholeNumber(0, MAX_SEED), 'makes the same ids and jitter in each run'),
  retry: option(
    'SCHEDULE',
    readText,
    'default (11 attempts in 72 h), quartic, fast, or a list such as 5s,1m,1h',
    'default',
  ),
  jitter: option('SHARE', shareUpTo(MAX_JITTER), 'how random each gap between attempts is, 0 to 0.5', '0.1'),
  timeout: option('TIME', readTimeout, 'how long an endpoint may take to answer; 0 is no limit', '15s'),
  serial: flag('delivers one at a time, in order'),
  assume: repeatable(
    'NAME=CHOICE',
    pairOf(readText),
    `another reading of what the documentation leaves open: ${assumptions.join(', ')}`,
  ),
  chaos: option(
    'LIST',
    listOf(readChaos),
    `adds scenarios at random, such as duplicate=0.1,stale=0.05 (for all ${SCENARIO_NAMES.length}, see trigger --help)`,
  ),
  keys: option('LIST', listOf(readText), 'API keys that it accepts (default: any sk_test_… and sk_live_…)'),
  lenient: flag('accepts unknown API parameters'),
  'rate-limit': option(
    'N/UNIT',
    readRate,
    'answers 429 above this rate of API requests, such as 25/s or 100/m',
  ),
  'allow-public': flag('delivers to the public internet too'),
  host: option('HOST', readText, 'the address to listen on', '127.0.0.1'),
  'allow-host': repeatable('NAME', readText, 'another host name to answer to'),
}

/** Their values. */
export type StartValues = Values<typeof START_OPTIONS>

/** The options for `createSandbox`. */
export function sandboxOptions(values: StartValues, secret: string): SandboxOptions {
  const { to, events, state, seed, chaos, keys, host } = values
  if (!isLoopback(host) && values['allow-host'].length === 0) {
    throw new UsageError(
      `--host ${host} lets other machines in: give the name they call it by, with --allow-host NAME.`,
    )
  }
  return {
    frozen: values.freeze,
    // `createSandbox` checks the subscriptions.
    endpoints: to.map((url) => ({ url, events: events as readonly Subscription[] })),
    secret,
    retry: values.retry,
    jitter: values.jitter,
    timeoutSeconds: values.timeout,
    serial: values.serial,
    assume: Object.fromEntries(values.assume),
    lenient: values.lenient,
    allowPublic: values['allow-public'],
    allowHosts: values['allow-host'],
    ...(state !== undefined && { stateFile: state }),
    ...(values['start-at'] !== undefined && { startAt: values['start-at'] }),
    ...(seed !== undefined && { seed }),
    ...(chaos !== undefined && { chaos: Object.fromEntries(chaos) }),
    ...(keys !== undefined && { keys }),
    ...(values['rate-limit'] !== undefined && { rateLimit: values['rate-limit'] }),
  }
}

function readChaos(text: string, name: string): readonly [string, number] {
  const [scenario, share] = pairOf(readShare)(text, name)
  return [oneOf(...SCENARIO_NAMES)(scenario, name), share]
}

function readTimeout(text: string, name: string): number {
  const seconds = readSeconds(text, name)
  if (seconds <= MAX_TIMEOUT_SECONDS) return seconds
  throw new UsageError(`${name} ${text} is too long: at most 1h, or 0 for no limit.`)
}

const UNITS = { s: 1, m: 60, h: 3600 } as const

function readRate(text: string, name: string): { requests: number; perSeconds: number } {
  const [, requests, unit] = /^(\d{1,7})\/(s|m|h)$/.exec(text) ?? []
  if (requests !== undefined && Number(requests) > 0 && Number(requests) <= MAX_REQUESTS) {
    return { requests: Number(requests), perSeconds: UNITS[oneOf('s', 'm', 'h')(unit ?? '', name)] }
  }
  throw new UsageError(
    `${name} ${JSON.stringify(text)} is not a rate: write it like 25/s, 100/m or 1000/h, with at most ${MAX_REQUESTS} requests.`,
  )
}
