import { inspect } from 'node:util'
import {
  ConfigurationError,
  isWebhookError,
  PayloadError,
  RetryLater,
  WebhookError,
  WebhookVerificationError,
} from 'tix-webhooks'
import { describe, expect, test, vi } from 'vitest'

const cause = new Error('what was caught')

type Api = typeof import('tix-webhooks')

/** One error of each class, made by a copy of the package. */
function oneOfEach(api: Api): [string, string, string, WebhookError][] {
  return [
    ['WebhookError', 'any', 'm', new api.WebhookError('any', 'm', { cause })],
    [
      'WebhookVerificationError',
      'header_missing',
      'm',
      new api.WebhookVerificationError('header_missing', 'm', { cause }),
    ],
    ['PayloadError', 'not_json', 'm', new api.PayloadError('not_json', 'm', { cause })],
    ['BodyError', 'too_large', 'm', new api.BodyError('too_large', 'm', { cause })],
    ['ConfigurationError', 'misconfigured', 'm', new api.ConfigurationError('m', { cause })],
    ['StoreError', 'store_full', 'm', new api.StoreError('store_full', 'm', { cause })],
    ['RunError', 'timed_out', 'm', new api.RunError('timed_out', 'm', { cause })],
    ['RetryLater', 'retry_later', 'busy', new api.RetryLater({ afterSeconds: 60, reason: 'busy' })],
    ['Discard', 'discarded', 'no', new api.Discard('no')],
  ]
}

const api: Api = await import('tix-webhooks')

describe.each(oneOfEach(api))('%s', (name, code, message, error) => {
  test('has its name, its code and its message, and prints each once', () => {
    expect(error).toBeInstanceOf(Error)
    expect(error).toBeInstanceOf(WebhookError)
    expect(error.name).toBe(name)
    expect(error.code).toBe(code)
    expect(error.message).toBe(message)
    expect(String(error)).toBe(`${name}: ${message}`)
    if (error instanceof WebhookVerificationError) expect(error.stack).toBe(`${name}: ${message}`)
    else expect(error.stack).toContain('errors.test.ts')

    const printed = inspect(error)
    expect(printed.split('\n')[0]).toContain(`${name}: ${message}`)
    expect(printed).toContain(`code: '${code}'`)
    expect(printed).not.toContain('name:')
    expect(printed).not.toContain('Symbol(')
  })
})

test('a cause is kept, and it is absent if none was given', () => {
  for (const [, , , error] of oneOfEach(api).slice(0, 7)) expect(error.cause).toBe(cause)
  expect('cause' in new ConfigurationError('m')).toBe(false)
  expect('cause' in new PayloadError('not_json', 'm')).toBe(false)
})

test('an error of another copy of the package is no instance of ours, and known all the same', async () => {
  vi.resetModules()
  const other: Api = await import('tix-webhooks')
  for (const [, , , error] of oneOfEach(other)) {
    expect(error).not.toBeInstanceOf(WebhookError)
    expect(isWebhookError(error)).toBe(true)
  }
  for (const [, , , error] of oneOfEach(api)) expect(other.isWebhookError(error)).toBe(true)
})

test.each<[string, unknown]>([
  ['undefined', undefined],
  ['an Error with a code', Object.assign(new Error('m'), { code: 'misconfigured' })],
  ['the class itself', WebhookError],
])('%s is no error of this package', (_, value) => {
  expect(isWebhookError(value)).toBe(false)
})

test('RetryLater takes whole seconds from 1 to 86,400, which Retry-After can express', () => {
  for (const afterSeconds of [1, 86_400]) {
    const message = `Retry in ${afterSeconds} s.`
    expect(new RetryLater({ afterSeconds })).toMatchObject({ afterSeconds, code: 'retry_later', message })
  }
  for (const value of [0, -1, 1.5, 86_401, Number.NaN, Number.POSITIVE_INFINITY, '60', null, undefined]) {
    const make = () => new RetryLater({ afterSeconds: value as number })
    expect(make).toThrow(TypeError)
    expect(make).toThrow(/RetryLater: afterSeconds must be a whole number of seconds from 1 to 86400, as in /)
  }
})

/** As JavaScript may call it. */
const loose = api as unknown as Record<string, (...args: unknown[]) => unknown> & {
  [Name in 'RetryLater' | 'Discard']: new (
    ...args: unknown[]
  ) => unknown
}
test.each<[string, () => unknown, string]>([
  ['new RetryLater()', () => new loose.RetryLater(), 'RetryLater: afterSeconds must be'],
  ['new RetryLater(null)', () => new loose.RetryLater(null), 'as in new RetryLater({ afterSeconds: 60 })'],
  ['new RetryLater(60)', () => new loose.RetryLater(60), 'not undefined; round'],
  ['new Discard({ reason })', () => new loose.Discard({ reason: 'free' }), 'Discard: reason must be a text'],
  ['new Discard(error)', () => new loose.Discard(new Error('free')), 'not an object'],
  ['answerTo()', () => loose.answerTo?.(), 'not undefined'],
  ['answerTo() of a promise', () => loose.answerTo?.(Promise.resolve()), 'not a promise'],
  ['answerTo({})', () => loose.answerTo?.({}), 'answerTo takes the outcome of a delivery'],
  ['isKind(event)', () => loose.isKind?.({ type: 'order.created' }), 'isKind takes an event and a kind'],
  ['isKind()', () => loose.isKind?.(), 'isKind takes an event and a kind'],
])('%s is a TypeError that says what is missing', (_, call, message) => {
  expect(call).toThrow(TypeError)
  expect(call).toThrow(message)
})

test('an error that anybody can cause costs no stack, and leaves those of others as they are', () => {
  const limit = Error.stackTraceLimit
  void new WebhookVerificationError('signature_mismatch', 'm')
  expect(Error.stackTraceLimit).toBe(limit)
  expect(new Error('other').stack).toContain('errors.test.ts')
})
