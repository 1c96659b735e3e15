import { ConfigurationError, WebhookVerificationError } from '../errors.js'
import { ignoreRejection } from '../lib/call-safely.js'
import { describeType } from '../lib/describe-type.js'
import { isPromise, type MaybePromise, whenSettled } from '../lib/maybe-promise.js'
import { type SignatureHeader, type SignedParts, signedPrefix } from './header.js'
import { hmacEngine, type SecretKey, secretKey } from './hmac.js'
import type { SignatureScheme } from './scheme.js'

/**
 * Compares each signature with that of each secret, in constant time. All pairs are compared, also after a match, so that the time does
 * not reveal which one matched.
 *
 * @param keys none if the account is unknown: then nothing matches, but it takes the time of one secret
 * @param hintOf explains a mismatch, if the caller knows why
 * @returns the index of the secret that matched
 * @throws WebhookVerificationError `signature_mismatch`, `account_unknown`
 */
export function matchSignature(
  header: SignatureHeader,
  rawBody: Uint8Array,
  keys: readonly SecretKey[],
  scheme: SignatureScheme,
  hintOf?: () => string | undefined,
): MaybePromise<number> {
  const isKnown = keys.length > 0
  const digests = digestsOf(header, rawBody, isKnown ? keys : madeUpKeys(), scheme)
  return whenSettled(digests, (expected) => {
    const secretIndex = matchOf(expected, header, scheme)
    if (!isKnown) throw unknown()
    if (secretIndex === -1) throw mismatch(scheme, hintOf?.())
    return secretIndex
  })
}

let madeUp: readonly SecretKey[] | undefined

/** Made at the first request of an unknown account: Workers allow nothing random before. */
function madeUpKeys(): readonly SecretKey[] {
  madeUp ??= [secretKey(new TextEncoder().encode(hmacEngine().randomUuid()))]
  return madeUp
}

/** The index of the first that is among the signatures, or -1. */
function matchOf(
  expected: readonly string[],
  { signatures }: SignatureHeader,
  scheme: SignatureScheme,
): number {
  const { equal } = hmacEngine()
  let secretIndex = -1
  for (const signature of signatures) {
    const candidate = scheme.encoding === 'hex' ? signature.toLowerCase() : signature
    for (let index = 0; index < expected.length; index++) {
      const isEqual = equal(candidate, expected[index] as string)
      if (isEqual && (secretIndex === -1 || index < secretIndex)) secretIndex = index
    }
  }
  return secretIndex
}

function digestsOf(
  parts: SignedParts,
  rawBody: Uint8Array,
  keys: readonly SecretKey[],
  scheme: SignatureScheme,
): MaybePromise<readonly string[]> {
  const digests = keys.map((key) => digest(parts, rawBody, key, scheme))
  return digests.some(isPromise) ? Promise.all(digests) : (digests as string[])
}

function mismatch({ header }: SignatureScheme, hint: string | undefined): WebhookVerificationError {
  return new WebhookVerificationError(
    'signature_mismatch',
    `No signature in ${header} matches the body: is the secret the one of this endpoint, and does nothing in between change the body? A service that signs in another way needs the option signature.${
      hint === undefined ? '' : ` ${hint}`
    }`,
  )
}

function unknown(): WebhookVerificationError {
  return new WebhookVerificationError(
    'account_unknown',
    'Your account function found no account for this request. If it is genuine, look at the address of the endpoint in its webhook settings.',
  )
}

/** The signature of a body, as written in the header. */
export function digest(
  parts: SignedParts,
  body: Uint8Array,
  key: SecretKey,
  scheme: SignatureScheme,
): MaybePromise<string> {
  const { algorithm, encoding, signedContent } = scheme
  if (typeof signedContent === 'function') {
    return hmacEngine().hmac(algorithm, key, '', contentBy(signedContent, parts.t, body), encoding)
  }
  return hmacEngine().hmac(algorithm, key, signedPrefix(parts, scheme), body, encoding)
}

function contentBy(
  signedContent: (t: string, body: Uint8Array) => unknown,
  t: string,
  body: Uint8Array,
): Uint8Array {
  let content: unknown
  try {
    content = signedContent(t, body)
  } catch (cause) {
    throw new ConfigurationError(
      'Your signature.signedContent function threw: it must return the signed bytes.',
      { cause },
    )
  }
  if (content instanceof Uint8Array) return content
  ignoreRejection(content)
  throw new ConfigurationError(
    `Your signature.signedContent function returned ${describeType(content)}: it must return the signed bytes as a Uint8Array.`,
  )
}
