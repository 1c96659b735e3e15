import { isWebhookError, type SignatureOptions, verifySignature } from 'tix-webhooks'
import { textOf } from '../arguments/input.js'
import type { Received } from './receiving-server.js'

/** How a delivery is judged. */
export interface Judging {
  /** None: it is not verified at all. */
  readonly secrets: readonly string[]
  readonly signature: SignatureOptions
  readonly toleranceSeconds: number
}

/** The verdict on a delivery that was received. */
export interface Inspected {
  /** Undefined if the body is no event. */
  readonly kind: string | undefined
  /** `unchecked` if there is no secret. */
  readonly verdict: 'verified' | 'refused' | 'unchecked'
  /** Why it is refused: a code of the receiver's, and its words. */
  readonly code?: string
  readonly reason?: string
  /** How long ago it was signed. */
  readonly ageSeconds?: number
}

/** Verifies a delivery as a receiver does, and reads its kind. */
export async function inspect({ headers, body }: Received, judging: Judging): Promise<Inspected> {
  const kind = kindOf(body)
  if (judging.secrets.length === 0) return { kind, verdict: 'unchecked' }
  try {
    const { signedAt } = await verifySignature(body, headers['x-service-signature'], {
      secret: judging.secrets,
      signature: judging.signature,
      toleranceSeconds: judging.toleranceSeconds,
    })
    return { kind, verdict: 'verified', ageSeconds: Math.floor((Date.now() - signedAt.getTime()) / 1000) }
  } catch (error) {
    if (!isWebhookError(error)) throw error
    return { kind, verdict: 'refused', code: error.code, reason: error.message }
  }
}

function kindOf(body: Uint8Array): string | undefined {
  try {
    const { type } = JSON.parse(textOf(body)) ?? {}
    return typeof type === 'string' ? type : undefined
  } catch {
    return undefined
  }
}
