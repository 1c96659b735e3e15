import {
  type SignatureOptions,
  type VerificationCode,
  verifySignature,
  WebhookVerificationError,
} from 'tix-webhooks'
import { type HeaderForm, readHeader } from './header-form.js'
import { findNeighbour } from './neighbours.js'
import { ignored, sayOtherSchemes } from './other-schemes.js'
import { foreignHash, spellingsOf } from './spelling.js'

/** A delivery that was kept, and what it should be verified by. */
export interface DiagnoseOptions {
  secret: string
  /** The value of the signature header, or the line with its name. */
  header: string
  body: Uint8Array
  /** How old it may be, in seconds. Default 300; 0: its age is not judged. */
  toleranceSeconds?: number
  /** Milliseconds since the epoch. Default `Date.now`. */
  now?: () => number
  /** How the service signs: the receiver's own option. */
  signature?: SignatureOptions
}

export type Diagnosis =
  | {
      readonly valid: true
      readonly signedAt: Date
      readonly ageSeconds: number
      /** Oddities that did not matter, in sentences. */
      readonly findings: readonly string[]
    }
  | {
      readonly valid: false
      /** The code that the receiver reports; `secret_unusable` if it would refuse to start. */
      readonly code: VerificationCode | 'secret_unusable'
      /** The error of the receiver. */
      readonly reason: string
      /** Likely causes with advice, in sentences; the likeliest first. */
      readonly findings: readonly string[]
    }

const DEFAULT_HEADER = 'x-service-signature'
const ANY_AGE_SECONDS = Number.MAX_SAFE_INTEGER

/**
 * Verifies a delivery as the receiver does. If it is refused, says how it was signed instead, if that is anywhere near. Neither the
 * secret nor the body is in what it says.
 *
 * @throws TypeError if an option is invalid
 */
export async function diagnose(options: DiagnoseOptions): Promise<Diagnosis> {
  const { secret, body, signature = {}, now = Date.now, toleranceSeconds } = options
  const form = readHeader(options.header, signature.header?.toLowerCase() ?? DEFAULT_HEADER)
  const allowed = toleranceSeconds === 0 ? ANY_AGE_SECONDS : toleranceSeconds
  const verify = (scheme: SignatureOptions) =>
    verifySignature(body, form.value, {
      secret,
      now,
      signature: scheme,
      ...(allowed !== undefined && { toleranceSeconds: allowed }),
    })
  const unusable = whyUnusable(secret)
  if (unusable !== undefined) return unusableSecret(unusable, form, options)
  try {
    const { signedAt } = await verify(signature)
    const ageSeconds = Math.floor((now() - signedAt.getTime()) / 1000)
    return { valid: true, signedAt, ageSeconds, findings: [...form.findings, ...form.others.map(ignored)] }
  } catch (error) {
    if (!(error instanceof WebhookVerificationError)) throw error
    const { code, message: reason } = error
    const isTimely = code === 'timestamp_too_old' || code === 'timestamp_in_future'
    const findings = isTimely ? await untimely(form, signature, verify) : await mismatched(form, options)
    return { valid: false, code, reason, findings: [...findings, ...form.findings] }
  }
}

/** A receiver would refuse this secret when it is created, but a signature by it can still be explained. */
async function unusableSecret(
  reason: string,
  form: HeaderForm,
  options: DiagnoseOptions,
): Promise<Diagnosis> {
  const findings = options.secret.trim() === '' ? [] : await mismatched(form, options)
  return { valid: false, code: 'secret_unusable', reason, findings: [...findings, ...form.findings] }
}

function whyUnusable(secret: string): string | undefined {
  if (secret.trim() === '') return 'The secret is empty: pass the signing secret of the endpoint.'
  if (secret !== secret.trim()) {
    return 'The secret begins or ends with white space, which the receiver refuses: trim it.'
  }
  return /^(["']).*\1$/s.test(secret)
    ? 'The secret is in quotes, which the receiver refuses: remove them.'
    : undefined
}

async function mismatched(form: HeaderForm, options: DiagnoseOptions): Promise<string[]> {
  const { secret, body, signature = {} } = options
  const spellings = form.signatures.flatMap(spellingsOf)
  const { t } = form
  const neighbour = findNeighbour({ secret, body, signature, spellings, t })
  const hasV1 = form.signatures.length > 0
  const others = await sayOtherSchemes(form.others, { secret, body, t, signature, hasV1 })
  if (neighbour !== undefined) return [neighbour, ...others]
  const hashes = form.signatures.flatMap((one) => foreignHash(spellingsOf(one)[0]) ?? [])
  return [
    ...others,
    ...form.signatures.flatMap(cutOff),
    ...hashes.map(
      (hash) =>
        `The signature has the length of ${hash}, which is not supported: the service must sign with SHA-256 or SHA-512.`,
    ),
    ...strangeBody(body),
    ...(form.signatures.some((one) => cutOff(one).length === 0) && hashes.length === 0
      ? [unlikeAny(secret)]
      : []),
  ]
}

const SHA256_DIGITS = 64
/** The digits of an MD5, the shortest hash in use. */
const LEAST_HASH_DIGITS = 32

/** A signature that is shorter than that of any hash was not copied whole. */
function cutOff(signature: string): string[] {
  const { length } = signature
  const isHex = /^[0-9a-f]+$/i.test(signature)
  const isBetween = length > SHA256_DIGITS - 8 && length < SHA256_DIGITS
  return isHex && (length < LEAST_HASH_DIGITS || isBetween || length % 2 === 1)
    ? [`v1 has ${length} hex digits, and SHA-256 has ${SHA256_DIGITS}: is it cut off?`]
    : []
}

function unlikeAny(secret: string): string {
  const end = secret.trim().length > 8 ? `, which ends in ${secret.trim().slice(-4)},` : ''
  return `It matches no known way of signing, so the secret or the body is wrong: is the secret${end} the one of this endpoint, and is the body complete and from the same request?`
}

function strangeBody(body: Uint8Array): string[] {
  if (body.length === 0) return ['The body is empty: was it read before, or not saved?']
  if (body[0] === 0x1f && body[1] === 0x8b) {
    return [
      'The body is compressed (gzip), and the signature is over the bytes that were sent: does a proxy compress?',
    ]
  }
  try {
    JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body))
    return []
  } catch {
    return ['The body is not valid JSON: is it complete, and exactly as it was sent?']
  }
}

/** The signature is right; so it was kept for a while, or t counts something else. */
async function untimely(
  form: HeaderForm,
  signature: SignatureOptions,
  verify: (signature: SignatureOptions) => Promise<unknown>,
): Promise<string[]> {
  const timestampUnit = signature.timestampUnit === 'ms' ? 's' : 'ms'
  try {
    await verify({ ...signature, timestampUnit })
    return [
      `Its t is in ${timestampUnit === 'ms' ? 'milliseconds' : 'seconds'}: set signature.timestampUnit to "${timestampUnit}", then it is valid.`,
    ]
  } catch {
    const ms = Number(form.t) * (signature.timestampUnit === 'ms' ? 1 : 1000)
    const when = Number.isFinite(new Date(ms).getTime()) ? ` (${new Date(ms).toISOString()})` : ''
    return [
      `The signature is right, so the secret is too. If it was just sent, is the clock of this machine right? If you saved it, pass the time when it was received: --received-at with the time of its t${when}, or --tolerance 0.`,
    ]
  }
}
