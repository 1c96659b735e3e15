import { ConfigurationError, UnavailableError } from '../errors.js'
import { describeType } from '../lib/describe-type.js'
import { isRecord } from '../lib/option-names.js'
import { ignoreRejection, type MaybePromise } from '../lib/promises.js'
import type { SecretKey } from './hmac.js'
import { returnedKeys, type Secrets, secretSource } from './secrets.js'

/** One of several senders on a route, as the option `account` returns it: with what else your handlers need of it. */
export interface Account {
  /** Part of every key, so that no account can suppress the events of another: 1 to 64 characters of `A-Z a-z 0-9 . _ -`. */
  readonly id: string
  /** Its signing secret; several during a rotation. */
  readonly secret: Secrets
}

/**
 * TypeScript reads options in their order, functions whose parameter has no type last. So it finds no accounts if `account` stands after `on`, or
 * beside handlers that are typed elsewhere; and none beside a type argument. Its error then names what works.
 */
type NotFound<Found> = [Found] extends [undefined]
  ? 'annotate the request of account, and pass no type argument'
  : never

/** Finds the account of a request: see the option `account`. */
export type AccountFunction<Request, Found> = (
  request: Request,
) => Found | NotFound<Found> | null | undefined | Promise<Found | NotFound<Found> | null | undefined>

/** Whose signature a delivery must have. */
export interface Signer {
  /** Of an account that is unknown there are none. */
  readonly keys: readonly SecretKey[]
  /** The account itself, as the user's function returned it. */
  readonly account: unknown
}

/** The longest namespace, and the longest id of an account. */
export const MAX_NAME_LENGTH = 64

/** The rule for a name that is part of keys. */
export const NAME_RULE: string = `1 to ${MAX_NAME_LENGTH} characters of A-Z a-z 0-9 . _ -`

export function isName(value: unknown): value is string {
  return typeof value === 'string' && /^[A-Za-z0-9._-]{1,64}$/.test(value)
}

/**
 * The source of signers: one for all requests, or one for each.
 *
 * @throws TypeError when there are both a secret and an account function, or a secret is invalid
 */
export function signerSource<Request>({
  secret,
  account,
}: {
  readonly secret?: Secrets | ((request: Request) => Secrets | Promise<Secrets>)
  readonly account?: AccountFunction<Request, unknown> | undefined
}): (request: Request, state: { account: string | undefined }) => MaybePromise<Signer> {
  if (account === undefined) {
    const keysFor = secretSource(secret)
    if (typeof keysFor !== 'function') return () => ({ keys: keysFor, account: undefined })
    return async (request) => ({ keys: await keysFor(request), account: undefined })
  }
  if (secret !== undefined) {
    throw new TypeError('Pass a secret or an account function, not both: an account has its own secret.')
  }
  if (typeof account !== 'function') {
    throw new TypeError(
      `account must be a function of the request that returns { id, secret }, not ${describeType(account)}.`,
    )
  }
  return async (request, state) => {
    let found: unknown
    try {
      found = await account(request)
    } catch (cause) {
      throw new UnavailableError(
        'account_unavailable',
        'Your account function failed, so the signature could not be checked. Nothing is lost: the sender retries.',
        { cause },
      )
    }
    return isUnknown(found) ? UNKNOWN : signerOf(found, state)
  }
}

const UNKNOWN: Signer = { keys: [], account: undefined }

/**
 * Many database libraries return null for a row that is missing. A plain object of accounts has `constructor` and `__proto__`: a stranger
 * who asks for those is a stranger too, and no mistake in the set-up.
 */
function isUnknown(found: unknown): boolean {
  return found === undefined || found === null || typeof found === 'function' || found === Object.prototype
}

/** @throws ConfigurationError when it is no account */
function signerOf(found: unknown, state: { account: string | undefined }): Signer {
  if (!isRecord(found)) throw misconfigured(describeType(found))
  const { id, secret } = found
  if (!isName(id)) {
    ignoreRejection(id)
    ignoreRejection(secret)
    throw misconfigured(
      `an account whose id is ${id === '' ? 'empty' : `not a name, but ${describeType(id)}`}`,
    )
  }
  // Before its secret is checked, so that the record and the report name it.
  state.account = id
  return { keys: returnedKeys(secret as Secrets, `the secret of the account ${id}`), account: found }
}

function misconfigured(what: string): ConfigurationError {
  return new ConfigurationError(
    `Your account function returned ${what}: it must return { id, secret }, with an id of ${NAME_RULE}, or undefined if it knows no account for the request.`,
  )
}
