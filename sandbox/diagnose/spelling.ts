/** A digest decoded from a signature, by an encoding that it may have. */
export interface Spelling {
  readonly encoding: 'hex' | 'base64' | 'base64url'
  readonly digest: Buffer
}

/** The bytes that the text of a signature may stand for. */
export function spellingsOf(signature: string): readonly Spelling[] {
  const spellings: Spelling[] = []
  if (/^([0-9a-f]{2})+$/i.test(signature)) {
    spellings.push({ encoding: 'hex', digest: Buffer.from(signature, 'hex') })
  }
  if (/^[\w+/-]+={0,2}$/.test(signature)) {
    const encoding = /[-_]/.test(signature) || signature.length % 4 !== 0 ? 'base64url' : 'base64'
    spellings.push({ encoding, digest: Buffer.from(signature, 'base64') })
  }
  return spellings
}

/** Names the hash by the length of a digest that we do not verify. */
export function foreignHash(spelling: Spelling | undefined): string | undefined {
  return { 16: 'MD5', 20: 'SHA-1', 28: 'SHA-224', 48: 'SHA-384' }[spelling?.digest.length ?? 0]
}
