import { asItIs, distinct, type Variant } from './variant.js'

const STANDARD =
  'That is how Standard Webhooks reads secrets: pass the decoded bytes to the receiver as a Uint8Array.'

/** The secret, and what the sender may have used instead, such as its decoded bytes. No description contains the secret. */
export function secretVariants(secret: string): readonly Variant<Uint8Array>[] {
  const bare = secret.replace(/^whsec_/, '')
  const unquoted = secret.trim().replace(/^(["'])(.*)\1$/, '$2')
  return distinct([
    asItIs<Uint8Array>(Buffer.from(secret)),
    variant('the secret without white space at its edges', 'Trim it.', secret.trim()),
    variant(
      'the secret without its quotes',
      'They are from the shell or the .env file: remove them.',
      unquoted,
    ),
    variant('the secret with a line end after it', FROM_A_FILE, `${secret}\n`),
    variant('the secret with CR LF after it', FROM_A_FILE, `${secret}\r\n`),
    variant('the secret with a space after it', FROM_A_FILE, `${secret} `),
    variant('the secret with a space before it', FROM_A_FILE, ` ${secret}`),
    variant('the secret in double quotes', QUOTED, `"${secret}"`),
    variant('the secret in single quotes', QUOTED, `'${secret}'`),
    variant(
      'the secret without its whsec_',
      'One side uses the prefix as part of the secret, and the other does not.',
      bare,
    ),
    variant(
      'the secret with whsec_ before it',
      'The prefix is part of the secret: copy all of it.',
      `whsec_${bare}`,
    ),
    ...decoded(bare, 'base64', /^[\w+/-]+={0,2}$/, STANDARD),
    ...decoded(bare, 'hex', /^([0-9a-f]{2})+$/i, 'Pass the decoded bytes to the receiver as a Uint8Array.'),
  ]).filter(({ value }) => value.length > 0)
}

const FROM_A_FILE =
  'The other side read its secret from a file or a shell and did not trim it: trim it there.'
const QUOTED = 'The other side uses the quotes of a .env file as part of the secret: remove them there.'

function variant(what: string, advice: string, text: string): Variant<Uint8Array> {
  return { what, advice, value: Buffer.from(text) }
}

function decoded(
  text: string,
  encoding: 'base64' | 'hex',
  form: RegExp,
  advice: string,
): Variant<Uint8Array>[] {
  if (!form.test(text)) return []
  return [{ what: `the secret decoded from ${encoding}`, advice, value: Buffer.from(text, encoding) }]
}
