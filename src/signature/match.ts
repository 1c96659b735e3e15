import { RETRY_WINDOW_SECONDS } from '../durations.js'
import { ConfigurationError, WebhookVerificationError } from '../errors.js'
import { describeType } from '../lib/describe-type.js'
import { ignoreRejection, isPromise, type MaybePromise, whenSettled } from '../lib/promises.js'
import type { SignatureHeader } from './header.js'
import { hmacEngine, type SecretKey, secretKey } from './hmac.js'
import { type SignatureScheme, toMs, toUnit } from './scheme.js'

interface VerifyTerms {
  readonly scheme: SignatureScheme
  readonly toleranceSeconds: number
  now(): number
}

/**
 * Verifies a delivery: its signatures, and then its timestamp, so that the message may call a stale one authentic.
 *
 * Each signature is compared with that of each secret, in constant time. All pairs are compared, also after a match, so that the time does
 * not reveal which one matched.
 *
 * @param keys none if the account is unknown: then nothing matches, but it takes the time of one secret
 * @param hintOf explains a mismatch, if the caller knows why
 * @param found gets the age of an authentic delivery, a stale one too
 * @returns when the service signed, and the index of the secret that matched
 * @throws WebhookVerificationError `signature_mismatch`, `account_unknown`, `timestamp_too_old` or `timestamp_in_future`
 */
export function verified(
  header: SignatureHeader,
  rawBody: Uint8Array,
  keys: readonly SecretKey[],
  terms: VerifyTerms,
  hintOf?: () => string | undefined,
  found?: { signatureAgeSeconds: number | undefined },
): MaybePromise<{ readonly signedAt: Date; readonly secretIndex: number }> {
  const { scheme, toleranceSeconds } = terms
  const isKnown = keys.length > 0
  const digests = (isKnown ? keys : madeUpKeys()).map((key) => digest(header.t, rawBody, key, scheme))
  const all = digests.some(isPromise) ? Promise.all(digests) : (digests as string[])
  return whenSettled(all, (expected) => {
    const secretIndex = matchOf(expected, header, scheme)
    if (!isKnown) throw unknown()
    if (secretIndex === -1) throw mismatch(scheme, hintOf?.())
    const { t } = header
    const ageSeconds = signatureAgeSeconds(t, scheme, terms.now())
    if (found !== undefined) found.signatureAgeSeconds = ageSeconds
    checkTimestamp(t, scheme, toleranceSeconds, ageSeconds)
    return { signedAt: new Date(toMs(Number(t), scheme)), secretIndex }
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

function checkTimestamp(
  t: string,
  scheme: SignatureScheme,
  toleranceSeconds: number,
  ageSeconds: number,
): void {
  if (ageSeconds > toleranceSeconds) {
    const unit =
      scheme.timestampUnit === 'ms' && t.length <= 10
        ? ' Its t looks like seconds: set signature.timestampUnit to "s".'
        : ''
    throw new WebhookVerificationError(
      'timestamp_too_old',
      `The delivery is authentic, but ${Math.ceil(ageSeconds)} s old, and ${toleranceSeconds} s are allowed: ${whyOld(ageSeconds)}${unit}`,
    )
  }
  // Written so that a `t` that is not a usable number is refused too.
  if (!(ageSeconds >= -toleranceSeconds)) {
    const unit =
      scheme.timestampUnit === 's' && t.length >= 13
        ? ' Its t looks like milliseconds: set signature.timestampUnit to "ms".'
        : ''
    throw new WebhookVerificationError(
      'timestamp_in_future',
      `The delivery is authentic, but was signed ${Math.ceil(-ageSeconds)} s in the future, and ${toleranceSeconds} s are allowed: is this machine's clock right?${unit}`,
    )
  }
}

/** The likeliest cause first. Within the retry window, a sender may also resend the old signature. */
function whyOld(ageSeconds: number): string {
  return ageSeconds <= RETRY_WINDOW_SECONDS
    ? `is this machine's clock right? If the sender does not sign its retries again, set toleranceSeconds to ${RETRY_WINDOW_SECONDS} (72 h).`
    : "is this machine's clock right? In a test, pass the same now to both sides."
}

/** Now less `t`, both in whole units of `t`: time that passes within the same second does not count. */
function signatureAgeSeconds(t: string, scheme: SignatureScheme, nowMs: number): number {
  const age = toUnit(nowMs, scheme) - Number(t)
  return scheme.timestampUnit === 's' ? age : age / 1000
}

/** The signature of a body, as written in the header. */
export function digest(
  t: string,
  body: Uint8Array,
  key: SecretKey,
  scheme: SignatureScheme,
): MaybePromise<string> {
  const { algorithm, encoding, signedContent } = scheme
  if (typeof signedContent === 'function') {
    return hmacEngine().hmac(algorithm, key, '', contentBy(signedContent, t, body), encoding)
  }
  return hmacEngine().hmac(algorithm, key, signedContent === 'dot' ? `${t}.` : t, body, encoding)
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
