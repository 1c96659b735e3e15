import { resolve } from 'node:path'
import { ASSUMPTIONS } from '../sandbox/assumptions.js'
import type { SandboxOptions, Subscription } from '../sandbox/index.js'
import { readSeconds } from './durations.js'
import { UsageError } from './failure.js'
import { DEFAULT_PORT } from './find-sandbox.js'
import type { Io } from './io.js'
import { readKinds } from './kinds.js'
import { isLoopback } from './loopback.js'
import { flag, many, one, type Values } from './options.js'
import { SCENARIO_NAMES } from './scenario-names.js'
import { newSecret, SIGNING_OPTIONS, secretOf } from './signing.js'
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
} from './values.js'

const MAX_SEED = 0x7fff_ffff
const MAX_JITTER = 0.5
const MAX_TIMEOUT_SECONDS = 3600
const MAX_REQUESTS = 1_000_000

const assumptions = Object.entries(ASSUMPTIONS).map(
  ([name, { choices }]) => `${name}=${Object.keys(choices).join('|')}`,
)

/** What the sandbox can be told at its start. */
export const START_OPTIONS = {
  port: one('PORT', readPort, 'where it listens; 0 is any free port', String(DEFAULT_PORT)),
  to: many('URL', readUrl, 'an endpoint; quote it for the shell'),
  events: one('LIST', readKinds, 'the kinds that these endpoints take, such as order.created,event.*', '*'),
  secret: SIGNING_OPTIONS.secret,
  state: one('FILE', readText, 'keeps its state in this file, and goes on from there'),
  now: one('WHEN', readInstant, 'where its time begins, such as 2026-12-01T19:00:00Z (default: now)'),
  freeze: flag('its time stands still until advance moves it'),
  seed: one('N', wholeNumber(0, MAX_SEED), 'the same ids and jitter in each run'),
  retry: one(
    'SCHEDULE',
    readText,
    'default (11 attempts in 72 h), tickettailor, fast, or a list such as 5s,1m,1h',
    'default',
  ),
  jitter: one(
    'SHARE',
    shareUpTo(MAX_JITTER),
    'how much of each gap between attempts is random, 0 to 0.5',
    '0.1',
  ),
  timeout: one(
    'TIME',
    readTimeout,
    'how long an endpoint has for its answer; 0 is without end: advance then waits until reset',
    '15s',
  ),
  serial: flag('delivers one after the other, in their order'),
  assume: many(
    'NAME=CHOICE',
    pairOf(readText),
    `reads the specification otherwise: ${assumptions.join(', ')}`,
  ),
  chaos: one(
    'LIST',
    listOf(readChaos),
    `spoils deliveries at random, such as duplicate=0.1,stale=0.05 (${SCENARIO_NAMES.length} scenarios: see trigger --help)`,
  ),
  keys: one('LIST', listOf(readText), 'the API keys that it takes (default: all sk_test_… and sk_live_…)'),
  lenient: flag('takes parameters that the API does not know'),
  'rate-limit': one('N/UNIT', readRate, 'answers 429 over so many API requests, such as 25/s or 100/m'),
  'allow-public': flag('delivers to the public internet, too'),
  host: one('HOST', readText, 'the address that it listens at', '127.0.0.1'),
  'allow-host': many('NAME', readText, 'a name under which it may be called'),
}

/** What was told. */
export type StartValues = Values<typeof START_OPTIONS>

/** What `createSandbox` is told. */
export function sandboxOptions(values: StartValues, io: Io): SandboxOptions {
  const { to, events, state, now, seed, chaos, keys, host } = values
  if (!isLoopback(host) && values['allow-host'].length === 0) {
    throw new UsageError(
      `--host ${host} lets other machines in: say by which name they call it, with --allow-host NAME.`,
    )
  }
  return {
    frozen: values.freeze,
    // That they are such is checked where they are read.
    endpoints: to.map((url) => ({ url, events: events as readonly Subscription[] })),
    secret: secretOf(values.secret, io) ?? newSecret(),
    retry: values.retry,
    jitter: values.jitter,
    timeoutSeconds: values.timeout,
    serial: values.serial,
    assume: Object.fromEntries(values.assume),
    lenient: values.lenient,
    allowPublic: values['allow-public'],
    allowHosts: values['allow-host'],
    ...(state !== undefined && { stateFile: resolve(io.cwd(), state) }),
    ...(now !== undefined && { now }),
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
  throw new UsageError(`${name} ${text} is too long: it is at most 1h, or 0, which is without end.`)
}

const UNITS = { s: 1, m: 60, h: 3600 } as const

function readRate(text: string, name: string): { requests: number; perSeconds: number } {
  const [, requests, unit] = /^(\d{1,7})\/(s|m|h)$/.exec(text) ?? []
  if (requests !== undefined && Number(requests) > 0 && Number(requests) <= MAX_REQUESTS) {
    return { requests: Number(requests), perSeconds: UNITS[oneOf('s', 'm', 'h')(unit ?? '', name)] }
  }
  throw new UsageError(
    `${name} ${JSON.stringify(text)} is no rate: write it like 25/s, 100/m or 1000/h, of at most ${MAX_REQUESTS} requests.`,
  )
}
