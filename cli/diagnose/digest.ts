import type { HmacAlgorithm } from '../../src/index.js'
import { hmacEngine, secretKey } from '../../src/signature/hmac.js'

/** The HMAC of some bytes, by the engine of the package's own signer: that one refuses secrets with white space at an edge, which is what is looked for here. */
export async function digestOf(
  content: Uint8Array,
  secret: Uint8Array,
  algorithm: HmacAlgorithm,
): Promise<Buffer> {
  return Buffer.from(await hmacEngine().hmac(algorithm, secretKey(secret), '', content, 'hex'), 'hex')
}
