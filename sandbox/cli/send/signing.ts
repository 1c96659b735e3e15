import { randomBytes } from 'node:crypto'
import { createReceiver, type SignatureOptions } from 'tix-webhooks'
import { option } from '../arguments/options.js'
import { oneOf, readText } from '../arguments/values.js'
import { UsageError } from '../failure.js'
import type { Io } from '../io.js'
import { ENV_FILE, type EnvFile, readEnvFiles } from './env-file.js'

/** The variable that holds the secret, in the environment, `.env.local` and `.env`. */
export const SECRET_VARIABLE = 'TIX_SIGNING_SECRET'

/** The options of commands that sign or verify by themselves. */
export const SIGNING_OPTIONS = {
  secret: option(
    'SECRET',
    readText,
    `signing secret of the endpoint (default: $${SECRET_VARIABLE}, else that of .env.local or ${ENV_FILE})`,
  ),
  signature: option(
    'FORM',
    oneOf('dot', 'concat', 'body'),
    'what is signed: dot (t + "." + body), concat (t + body) or body',
    'dot',
  ),
}

/** A secret and its source. */
export interface FoundSecret {
  readonly secret: string
  readonly from: '--secret' | 'the environment' | EnvFile['name']
}

/**
 * The secret of the flag, else that of the environment, else that of `.env.local` or `.env` in this folder.
 *
 * @throws UsageError if there is such a file that cannot be read, and if the receiver would refuse the secret that was found
 */
export function findSecret(flag: string | undefined, io: Pick<Io, 'env' | 'cwd'>): FoundSecret | undefined {
  if (flag) return { secret: flag, from: '--secret' }
  const variable = io.env[SECRET_VARIABLE]
  const found = variable ? { secret: variable, from: 'the environment' as const } : writtenSecret(io)
  if (found !== undefined) checkSecret(found)
  return found
}

/** @throws UsageError if the receiver would refuse the secret, such as a placeholder: it must not be signed with either */
export function checkSecret({ secret, from }: FoundSecret): void {
  try {
    createReceiver({ secret, on: {}, onUnhandled: () => {} })
  } catch (cause) {
    if (!(cause instanceof TypeError)) throw cause
    throw new UsageError(
      `The ${SECRET_VARIABLE} of ${from} would be refused by your app: ${cause.message} To make one: tix-webhooks secret --new`,
      { cause },
    )
  }
}

/**
 * The secret that this folder keeps in `.env.local` or `.env`, whether or not a receiver would take it.
 *
 * @throws UsageError if such a file cannot be read
 */
export function writtenSecret(io: Pick<Io, 'cwd'>): (FoundSecret & { from: EnvFile['name'] }) | undefined {
  for (const { name, values } of readEnvFiles(io)) {
    const secret = values[SECRET_VARIABLE]
    if (secret) return { secret, from: name }
  }
  return undefined
}

/** The same, without its source. */
export function secretOf(flag: string | undefined, io: Io): string | undefined {
  return findSecret(flag, io)?.secret
}

/** The same, for commands that need a secret. @throws UsageError if there is none */
export function neededSecret(flag: string | undefined, io: Io): string {
  const secret = secretOf(flag, io)
  if (secret !== undefined) return secret
  throw new UsageError(
    `There is no signing secret: give --secret, set ${SECRET_VARIABLE}, or run this where your ${ENV_FILE} is. To make one: tix-webhooks secret >> ${ENV_FILE}`,
  )
}

/** The signed content, as the receiver's own option. */
export function signatureOptions(form: 'dot' | 'concat' | 'body'): SignatureOptions {
  return { signedContent: form === 'body' ? (_t, body) => body : form }
}

/** A secret as a line of an `.env` file, in quotes that it does not contain. */
export function envLine(secret: string): string {
  if (/^[\w./+=:@-]+$/.test(secret)) return `${SECRET_VARIABLE}=${secret}`
  const quote = ["'", '"', '`'].find((mark) => !secret.includes(mark)) ?? ''
  return `${SECRET_VARIABLE}=${quote}${secret}${quote}`
}

const SECRET_BYTES = 24

/** A secret that nobody can guess. */
export function newSecret(): string {
  return `whsec_${randomBytes(SECRET_BYTES).toString('base64url')}`
}
