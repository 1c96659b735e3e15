import { randomBytes } from 'node:crypto'
import type { SignatureOptions } from '../src/index.js'
import { UsageError } from './failure.js'
import type { Io } from './io.js'
import { one } from './options.js'
import { oneOf, readText } from './values.js'

/** The environment variable that the secret is read from where there is no `--secret`. */
export const SECRET_VARIABLE = 'TIX_SIGNING_SECRET'

/** What commands take that sign or verify by themselves. */
export const SIGNING_OPTIONS = {
  secret: one('SECRET', readText, `signing secret of the endpoint (default: $${SECRET_VARIABLE})`),
  signature: one(
    'FORM',
    oneOf('dot', 'concat', 'body'),
    'what is signed: dot (t + "." + body), concat (t + body) or body',
    'dot',
  ),
}

/** The secret of the flag, else that of the environment. */
export function secretOf(flag: string | undefined, { env }: Io): string | undefined {
  const secret = flag ?? env[SECRET_VARIABLE]
  return secret === '' ? undefined : secret
}

/** The same, where nothing can be done without. */
export function neededSecret(flag: string | undefined, io: Io): string {
  const secret = secretOf(flag, io)
  if (secret !== undefined) return secret
  throw new UsageError(
    `There is no signing secret: give --secret, or set ${SECRET_VARIABLE} (tix-webhooks secret shows that of a running sandbox).`,
  )
}

/** What is signed, as the receiver's own option. */
export function signatureOptions(form: 'dot' | 'concat' | 'body'): SignatureOptions {
  return { signedContent: form === 'body' ? (_t, body) => body : form }
}

/** A secret as a line of an `.env` file. */
export function envLine(secret: string): string {
  const isPlain = /^[\w./+=:@-]+$/.test(secret)
  return `${SECRET_VARIABLE}=${isPlain ? secret : `'${secret.replaceAll("'", "'\\''")}'`}`
}

const SECRET_BYTES = 24

/** A secret that nobody can guess. */
export function newSecret(): string {
  return `whsec_${randomBytes(SECRET_BYTES).toString('base64url')}`
}
