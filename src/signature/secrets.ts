import { ConfigurationError, UnavailableError } from '../errors.js'
import { describeType } from '../lib/describe-type.js'
import { isPlaceholder } from '../lib/placeholder.js'
import { ignoreRejection } from '../lib/promises.js'
import { type SecretKey, secretKey } from './hmac.js'

/** The signing secret of one endpoint: its text as the service shows it, or its bytes. */
export type Secret = string | Uint8Array

/** One secret, or several during a rotation. `undefined` is refused at run time, so that `process.env.X` compiles. */
export type Secrets = Secret | readonly Secret[] | undefined

/**
 * Checks secrets and makes their keys. The HMAC key of a string is its UTF-8 bytes, literally: a prefix such as `whsec_` is part of it.
 *
 * @param source the origin of the secrets, for the message: `secret`, or `the value your secret function returned`
 * @param ifUnset advice for a missing secret
 * @throws TypeError when there is none, or one is empty, a placeholder, in quotes, or has white space at its start or end
 */
export function secretKeys(
  secrets: Secrets,
  source: string,
  ifUnset: string = IF_UNSET,
): readonly SecretKey[] {
  if (typeof secrets === 'string') return keysOfText(secrets, source)
  const list: readonly unknown[] = Array.isArray(secrets) ? secrets : [secrets]
  if (list.length === 0) {
    throw new TypeError(`${source}: the list of secrets is empty; pass at least one signing secret.`)
  }
  // A promise is refused, and the items after it are not checked: no rejection of theirs may be unhandled.
  for (const secret of list) ignoreRejection(secret)
  return Array.from(list).flatMap((secret, index) => {
    const name = list.length === 1 ? source : `${source}[${index}]`
    return typeof secret === 'string' ? keysOfText(secret, name) : toKey(secret, name, ifUnset)
  })
}

const IF_UNSET =
  ' Is the environment variable set, and read before this line? If only a build lacks it (next build), pass a function: secret: () => process.env.TIX_SIGNING_SECRET.'

/** The keys of each text, so that a secret that a function returns again is not checked and imported again. */
const keysByText = new Map<string, readonly SecretKey[]>()
const MAX_KNOWN = 1000

function keysOfText(secret: string, name: string): readonly SecretKey[] {
  let keys = keysByText.get(secret)
  if (keys === undefined) {
    keys = [toKey(secret, name, '')]
    if (keysByText.size >= MAX_KNOWN) keysByText.clear()
    keysByText.set(secret, keys)
  }
  return keys
}

/**
 * Checks secrets that are passed as a value at once; those of a function at each delivery, by the same rules.
 *
 * @returns the keys, or the function that asks for them
 */
export function secretSource<Request>(
  secret: Secrets | ((request: Request) => Secrets | Promise<Secrets>),
): readonly SecretKey[] | ((request: Request) => Promise<readonly SecretKey[]>) {
  if (typeof secret !== 'function') return secretKeys(secret, 'secret')
  return async (request) => {
    let secrets: Secrets
    try {
      secrets = await secret(request)
    } catch (cause) {
      throw new UnavailableError(
        'secret_unavailable',
        'Your secret function failed, so the signature could not be checked. Nothing is lost: the sender retries.',
        { cause },
      )
    }
    if (secrets === undefined || secrets === null) {
      throw new ConfigurationError(
        `Your secret function returned ${secrets} for this request: it must return the signing secret of the endpoint. Hono on Node has no variables in c.env: use env(c) of hono/adapter, or process.env.`,
      )
    }
    return returnedKeys(secrets, 'the value your secret function returned')
  }
}

/**
 * The same as `secretKeys`, for secrets that a function of the user's returned.
 *
 * @throws ConfigurationError when they are invalid
 */
export function returnedKeys(secrets: Secrets, source: string): readonly SecretKey[] {
  try {
    return secretKeys(secrets, source, '')
  } catch (error) {
    if (error instanceof TypeError) throw new ConfigurationError(error.message)
    throw error
  }
}

function toKey(secret: unknown, name: string, ifUnset: string): SecretKey {
  const fault = faultOf(secret, ifUnset)
  if (fault !== undefined) throw new TypeError(`${name} ${fault}`)
  // A copy: if the caller changes its array later, that must not change the verification.
  return secretKey(
    typeof secret === 'string' ? new TextEncoder().encode(secret) : Uint8Array.from(secret as Uint8Array),
  )
}

const PASS_IT = 'the signing secret of the endpoint, as in its webhook settings.'

function faultOf(secret: unknown, ifUnset: string): string | undefined {
  if (secret === undefined || secret === null) return `is ${secret}: pass ${PASS_IT}${ifUnset}`
  if (typeof secret !== 'string' && !(secret instanceof Uint8Array))
    return `must be a string or a Uint8Array, not ${describeType(secret)}.`
  if (secret.length === 0) return `is empty: pass ${PASS_IT}`
  const text = textOf(secret)
  if (text === undefined) return undefined
  if (text !== text.trim())
    return 'begins or ends with white space (a new line from a file or a shell?): trim it before passing it.'
  if (/^(["']).*\1$/s.test(text))
    return 'is in quotes, which would be part of it: remove them. docker --env-file keeps quotes, unlike a shell.'
  if (isPublic(text))
    return `is a placeholder, so anybody could sign with it: is the environment variable set, and expanded? Pass ${PASS_IT}`
  return undefined
}

/** Whether everybody knows the text: a value that was not filled in, or the prefix of a secret alone. */
function isPublic(text: string): boolean {
  const own = text.startsWith('whsec_') ? text.slice('whsec_'.length) : text
  return own === '' || isPlaceholder(own)
}

/**
 * The bytes of a text file, as from `readFileSync`, are checked like text; a random key is not text, and may begin and end with any byte.
 */
function textOf(secret: Secret): string | undefined {
  if (typeof secret === 'string') return secret
  const isText = secret.every((byte) => (byte >= 0x20 && byte < 0x7f) || (byte >= 0x09 && byte <= 0x0d))
  return isText ? new TextDecoder().decode(secret) : undefined
}
