import type { SignatureOptions } from 'tix-webhooks'
import type { Variant } from './variant.js'

/** Builds the signed bytes from the digits of `t` and the body. */
export type Content = (t: string, body: Uint8Array) => Uint8Array

const CONTENTS: readonly (Variant<Content> & { readonly name?: string })[] = [
  {
    name: 'dot',
    what: 't + "." + body',
    advice: 'Leave out signature.signedContent, or set it to "dot" (--signature dot).',
    value: (t, body) => Buffer.concat([Buffer.from(`${t}.`), body]),
  },
  {
    name: 'concat',
    what: 't + body, without the dot',
    advice: 'Set signature.signedContent to "concat" (--signature concat).',
    value: (t, body) => Buffer.concat([Buffer.from(t), body]),
  },
  {
    what: 'the body alone, without t',
    advice:
      'Set signature.signedContent to (t, body) => body (--signature body); but then t is not signed, and old deliveries can be replayed.',
    value: (_t, body) => body,
  },
  {
    what: 't in seconds + "." + body, where the header has milliseconds',
    advice: 'The sender signs a different t than it sends: it must send the t that it signs.',
    value: (t, body) => Buffer.concat([Buffer.from(`${t.slice(0, -3)}.`), body]),
  },
  {
    what: 't in milliseconds + "." + body, where the header has seconds',
    advice: 'The sender signs a different t than it sends: it must send the t that it signs.',
    value: (t, body) => Buffer.concat([Buffer.from(`${t}000.`), body]),
  },
]

/** The signed content by the options, and other contents that senders use. */
export function contentVariants({ signedContent = 'dot' }: SignatureOptions): readonly Variant<Content>[] {
  const asSet = CONTENTS.find(({ name }) => name === signedContent)?.value ?? signedContent
  const others = CONTENTS.filter(({ name }) => name !== signedContent)
  return typeof asSet === 'function' ? [{ what: '', advice: '', value: asSet }, ...others] : others
}
