import { resolve } from 'node:path'
import { checkDestination } from '../engine/network/address-rules.js'
import { httpSender } from '../engine/network/http-sender.js'
import { inProcessSender } from '../engine/network/in-process-sender.js'
import { retrySchedule } from '../engine/schedule.js'
import { isWholeWithin, isWithin } from '../lib/numbers.js'
import { checkOptionNames } from '../lib/option-names.js'
import { toEpochMs } from '../time/epoch.js'
import { assume } from './assumptions.js'
import { MAX_SEED, MAX_TIMEOUT_SECONDS, OPTION_NAMES, type SandboxOptions } from './options.js'
import { checkSubscriptions, type NewEndpoint } from './subscriptions.js'

/** The URL that a receiver in this process is given. */
const IN_PROCESS_RECEIVER = 'http://localhost/hooks'

/**
 * Valid options, each with its default.
 *
 * @throws TypeError that names the option and says what it must be; Error if the runtime cannot run it
 */
export function readSettings(options: SandboxOptions) {
  checkRuntime()
  options = checkOptionNames(options, OPTION_NAMES)
  const { deliver, allowPublic = false, secret, signingClock = 'real' } = options
  check('frozen', options.frozen, isBoolean, 'true or false')
  check('lenient', options.lenient, isBoolean, 'true or false')
  check('serial', options.serial, isBoolean, 'true or false')
  check('allowPublic', options.allowPublic, isBoolean, 'true or false')
  check('deliver', deliver, isFunction, 'a function (request) => response')
  check('onWarning', options.onWarning, isFunction, 'a function (message) => void')
  check('onRequest', options.onRequest, isFunction, 'a function (request) => void')
  check(
    'seed',
    options.seed,
    (value) => isWholeWithin(value, 0, MAX_SEED),
    `a whole number from 0 to ${MAX_SEED}`,
  )
  check('jitter', options.jitter, (value) => isWithin(value, 0, 0.5), 'a number from 0 to 0.5')
  check(
    'timeoutSeconds',
    options.timeoutSeconds,
    (value) => isWithin(value, 0, MAX_TIMEOUT_SECONDS),
    `a number of seconds from 0 (no limit) to ${MAX_TIMEOUT_SECONDS}`,
  )
  check(
    'signingClock',
    signingClock,
    (value) => value === 'real' || value === 'virtual',
    '"real" or "virtual"',
  )
  check('stateFile', options.stateFile, isText, 'the path of a file')
  check('secret', secret, isText, 'a string that is not empty')
  check('keys', options.keys, isListOfKeys, 'a list of API keys, which begin with sk_test_ or sk_live_')
  check('allowHosts', options.allowHosts, isListOfText, 'a list of host names')
  check(
    'rateLimit',
    options.rateLimit,
    (value) => isRateLimit(value),
    'an object such as { requests: 25, perSeconds: 1 }',
  )
  return {
    startMs: options.startAt === undefined ? undefined : toEpochMs('startAt', options.startAt),
    frozen: options.frozen ?? true,
    seed: options.seed,
    send: deliver === undefined ? httpSender({ allowPublic }) : inProcessSender(deliver),
    /** A receiver in this process may have any URL, because nothing connects to it. */
    checkUrl: (url: string) => checkDestination(url, { allowPublic: allowPublic || deliver !== undefined }),
    assumptions: assume(options.assume),
    schedule: options.retry === undefined ? undefined : retrySchedule(options.retry),
    jitter: options.jitter,
    timeoutSeconds: options.timeoutSeconds,
    secret,
    serial: options.serial,
    lenient: options.lenient,
    chaos: options.chaos,
    keys: options.keys,
    allowHosts: options.allowHosts,
    rateLimit: options.rateLimit,
    /** Resolved once: the process may change its folder later. */
    stateFile: options.stateFile === undefined ? undefined : resolve(options.stateFile),
    signsVirtually: signingClock === 'virtual',
    onWarning: options.onWarning ?? ((message: string) => console.warn(message)),
    onRequest: options.onRequest,
    endpoints: firstEndpoints(options),
  }
}

function firstEndpoints({ endpoints, deliver }: SandboxOptions): readonly NewEndpoint[] {
  check('endpoints', endpoints, Array.isArray, 'a list such as [{ url: "http://localhost:3000/hooks" }]')
  const inputs = endpoints ?? (deliver === undefined ? [] : [{ url: IN_PROCESS_RECEIVER }])
  inputs.forEach(checkSubscriptions)
  return inputs
}

function check(name: string, value: unknown, isRight: (value: unknown) => boolean, what: string): void {
  if (value === undefined || isRight(value)) return
  throw new TypeError(`${name} must be ${what}.`)
}

const isBoolean = (value: unknown): boolean => typeof value === 'boolean'
const isFunction = (value: unknown): boolean => typeof value === 'function'
const isText = (value: unknown): boolean => typeof value === 'string' && value.trim() !== ''
const isListOfText = (value: unknown): boolean => Array.isArray(value) && value.every(isText)
const isListOfKeys = (value: unknown): boolean =>
  Array.isArray(value) && value.length > 0 && value.every((key) => /^sk_(test|live)_./.test(String(key)))
const isRateLimit = (value: unknown): boolean => {
  const { requests, perSeconds } = (value ?? {}) as { requests?: unknown; perSeconds?: unknown }
  return isWholeWithin(requests, 1, 1_000_000) && isWithin(perSeconds, 0.001, 86_400)
}

/** Globals of Node that a browser-like test environment lacks or replaces. */
const GLOBALS = ['Request', 'Response', 'ReadableStream', 'structuredClone'] as const

/** @throws Error in a test environment that is a page, such as jsdom: nothing that is signed or sent there would ever arrive */
function checkRuntime(): void {
  const lacking = GLOBALS.find((name) => globalThis[name] === undefined)
  if (lacking === undefined && Buffer.alloc(0) instanceof Uint8Array) return
  const what = lacking === undefined ? "its Uint8Array is not Node's" : `there is no ${lacking}`
  throw new Error(
    `The sandbox needs Node, and this test environment is a page, such as jsdom's: ${what}. Begin the test file with /** @jest-environment node */ or // @vitest-environment node.`,
  )
}
