import type { Mode } from '../../domain/mode.js'
import { HttpError } from '../errors.js'

/** The account that sends a request. */
export interface Caller {
  /** The mode: `sk_test_…` and `sk_live_…` have an account each. */
  readonly mode: Mode
  /** The last four characters of the key, which is all of it that is kept. */
  readonly keyEnd: string
}

/** Finds the caller by the header `authorization`. */
export interface Authenticator {
  /** @throws HttpError if there is no key, or none that is accepted */
  authenticate(authorization: string | null): Caller
}

export interface AuthenticationOptions {
  /** The accepted keys. Default: every key of the right form. */
  keys?: readonly string[] | undefined
  /** Called with a warning, once for each live key. */
  onWarning?: ((message: string) => void) | undefined
}

const KEY = /^sk_(test|live)_[\x21-\x7e]+$/
/** A bound, because a client may try keys at random. */
const MAX_WARNINGS = 100
const CHALLENGE = { 'www-authenticate': 'Bearer' }

/** @throws TypeError that names the first invalid key */
export function createAuthenticator({ keys, onWarning = () => {} }: AuthenticationOptions): Authenticator {
  for (const [index, key] of (keys ?? []).entries()) {
    if (!KEY.test(key))
      throw new TypeError(`keys[${index}] is not an API key: it begins with sk_test_ or sk_live_.`)
  }
  const allowed = keys && new Set(keys)
  const warned = new Set<string>()

  return {
    authenticate(authorization) {
      const key = bearerKey(authorization)
      const mode = KEY.exec(key)?.[1] as Mode | undefined
      if (mode === undefined) {
        throw refusal('api_key_invalid', 'This is not an API key: it begins with sk_test_ or sk_live_.')
      }
      const keyEnd = lastFour(key)
      if (allowed?.has(key) === false) {
        throw refusal(
          'api_key_invalid',
          `The API key that ends in ${keyEnd} is not one that this sandbox accepts.`,
        )
      }
      if (mode === 'live' && !warned.has(key) && warned.size < MAX_WARNINGS) {
        warned.add(key)
        onWarning(
          `A live key (it ends in ${keyEnd}) was sent to the sandbox. Nothing real is touched: is this key meant to be here?`,
        )
      }
      return { mode, keyEnd }
    },
  }
}

/** The last four characters of a key, without its prefix. */
function lastFour(key: string): string {
  return key.replace(/^sk_(test|live)_/, '').slice(-4)
}

function bearerKey(authorization: string | null): string {
  if (authorization === null || authorization === '') {
    throw refusal(
      'api_key_missing',
      'There is no API key. Send the header "authorization: bearer sk_test_…".',
    )
  }
  const [, scheme = '', key = ''] = /^(\S+)(?: +(.*))?$/.exec(authorization.trim()) ?? []
  if (scheme.toLowerCase() !== 'bearer' || key === '') {
    throw refusal(
      'api_key_missing',
      'The header authorization has no bearer key. Its form is "authorization: bearer sk_test_…".',
    )
  }
  return key
}

function refusal(code: 'api_key_missing' | 'api_key_invalid', message: string): HttpError {
  return new HttpError(code, message, { headers: CHALLENGE })
}
