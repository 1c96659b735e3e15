import { type VerifyOptions, verifySignature, WebhookVerificationError } from 'tix-webhooks'
import { expect } from 'vitest'

/** Expects that a delivery is refused because no signature matches, and for no other reason. */
export async function expectMismatch(
  body: Uint8Array | string,
  header: string,
  options: VerifyOptions,
): Promise<void> {
  const verified = verifySignature(body, header, options)
  await expect(verified).rejects.toBeInstanceOf(WebhookVerificationError)
  await expect(verified).rejects.toMatchObject({
    code: 'signature_mismatch',
    message: expect.stringMatching(/is the secret the one of this endpoint/),
  })
}
