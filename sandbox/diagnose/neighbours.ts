import { createHmac } from 'node:crypto'
import type { HmacAlgorithm, SignatureOptions } from 'tix-webhooks'
import { bodyVariants } from './body-variants.js'
import { type Content, contentVariants } from './content-variants.js'
import { secretVariants } from './secret-variants.js'
import type { Spelling } from './spelling.js'
import type { Variant } from './variant.js'

/** A signature that does not match. */
export interface Mismatch {
  readonly secret: string
  readonly body: Uint8Array
  /** The digits of the header; empty if it has none. */
  readonly t: string
  readonly spellings: readonly Spelling[]
  readonly signature: SignatureOptions
}

/** One way in which the signature may have been made. */
interface Neighbour {
  readonly content: Variant<Content>
  readonly body: Variant<Uint8Array>
  readonly secret: Variant<Uint8Array>
  readonly algorithm: Variant<HmacAlgorithm>
}

/** In a larger body only one difference at a time is tried, because each try takes milliseconds. */
const MAX_PAIRED_BYTES = 256 * 1024

/**
 * Finds how the signature was made, if not as the options say: first by one difference, then by two.
 *
 * @returns what it matches and what to do, in a sentence or two; nothing if no way was found
 */
export function findNeighbour(mismatch: Mismatch): string | undefined {
  const { t, body, signature, spellings } = mismatch
  const most = body.length > MAX_PAIRED_BYTES ? 1 : 2
  const all = neighboursOf(mismatch)
  for (let differences = 0; differences <= most; differences++) {
    for (const neighbour of all) {
      if (differencesOf(neighbour).length !== differences) continue
      const { content, secret, algorithm } = neighbour
      const digest = digestOf(content.value(t, neighbour.body.value), secret.value, algorithm.value)
      const spelling = spellings.find((one) => digest.equals(one.digest))
      if (spelling !== undefined) return explain(neighbour, spelling, signature)
    }
  }
  return undefined
}

/** The HMAC, from node:crypto: the package's signer refuses secrets with white space at an edge, which are searched for here. */
function digestOf(content: Uint8Array, secret: Uint8Array, algorithm: HmacAlgorithm): Buffer {
  return createHmac(algorithm.replace('-', ''), secret).update(content).digest()
}

function neighboursOf({ secret, body, signature, t }: Mismatch): readonly Neighbour[] {
  // Without a t, only a content that has none can have been signed.
  const contents = contentVariants(signature).filter(({ value }) => t !== '' || value('1', body) === body)
  const bodies = bodyVariants(body)
  const secrets = secretVariants(secret)
  return algorithmVariants(signature).flatMap((algorithm) =>
    contents.flatMap((content) =>
      secrets.flatMap((one) =>
        bodies.map((other): Neighbour => ({ content, body: other, secret: one, algorithm })),
      ),
    ),
  )
}

function algorithmVariants({ algorithm = 'SHA-256' }: SignatureOptions): Variant<HmacAlgorithm>[] {
  const all = (['SHA-256', 'SHA-512'] as const).map((value) => ({
    what: `HMAC-${value.replace('-', '')}`,
    advice: `Set signature.algorithm to "${value}".`,
    value,
  }))
  return all
    .map((one) => (one.value === algorithm ? { ...one, what: '', advice: '' } : one))
    .sort((a, b) => a.what.length - b.what.length)
}

function differencesOf({ content, body, secret, algorithm }: Neighbour): Variant<unknown>[] {
  return [content, body, secret, algorithm].filter(({ what }) => what !== '')
}

function explain(neighbour: Neighbour, { encoding }: Spelling, signature: SignatureOptions): string {
  const differences = differencesOf(neighbour).map(({ what, advice }) => ({ what, advice }))
  if (encoding !== (signature.encoding ?? 'hex')) {
    differences.push({
      what: `${encoding} in place of ${signature.encoding ?? 'hex'}`,
      advice:
        encoding === 'base64url'
          ? 'The sender must use standard base64, with +, / and =.'
          : `Set signature.encoding to "${encoding}".`,
    })
  }
  if (differences.length === 0) return 'The signature itself is right; the form of the header is not.'
  const whats = differences.map(({ what }) => what).join(', and ')
  return `The signature matches ${whats}. ${differences.map(({ advice }) => advice).join(' ')}`
}
