/** The content that is signed, by the assumption in force: made of the digits of `t` and the body. */
export type SignedContent = 'dot' | 'concat' | 'body'

const HEADER = 'x-service-signature'

export interface SignatureHeader {
  /** The value as it was sent; undefined if there was none. */
  readonly value: string | undefined
  /** The digits of the first t. */
  readonly t: string | undefined
  readonly signatures: readonly string[]
}

export function readSignature(headers: Readonly<Record<string, string>>): SignatureHeader {
  const value = headers[HEADER]
  const parts = (value ?? '').split(',').map((part) => part.trim())
  return {
    value,
    t: parts.map((part) => /^t=(\d+)$/.exec(part)?.[1]).find((t) => t !== undefined),
    signatures: parts.flatMap((part) => /^v1=(.+)$/.exec(part)?.[1] ?? []),
  }
}

/** The part of the signed content before the body. */
export function prefixOf(t: string, assumed: SignedContent): string {
  return { dot: `${t}.`, concat: t, body: '' }[assumed]
}

/** The HMAC-SHA256 in hex; undefined if the browser has no WebCrypto, which needs HTTPS or a page from this machine. */
export async function hmac(secret: string, content: string): Promise<string | undefined> {
  if (crypto.subtle === undefined) return undefined
  const encoder = new TextEncoder()
  const algorithm = { name: 'HMAC', hash: 'SHA-256' }
  const key = await crypto.subtle.importKey('raw', encoder.encode(secret), algorithm, false, ['sign'])
  const digest = new Uint8Array(await crypto.subtle.sign('HMAC', key, encoder.encode(content)))
  return [...digest].map((byte) => byte.toString(16).padStart(2, '0')).join('')
}
