export { messageOf } from '../internal.js'

/** The exit codes. */
export const EXIT = {
  ok: 0,
  /** A check failed: a probe, a signature, a delivery. */
  failed: 1,
  /** The command line is invalid, or names something that does not exist. */
  usage: 2,
  /** No sandbox runs, and the command needs one. */
  noSandbox: 3,
  /** The user interrupted it. */
  interrupted: 130,
} as const

/** One of them. */
export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

/** Ends a command early. The message says what is wrong and what to do: it is all that the user sees. */
export class Failure extends Error {
  readonly exitCode: ExitCode

  constructor(exitCode: ExitCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'Failure'
    this.exitCode = exitCode
  }
}

/** An invalid command line. */
export class UsageError extends Failure {
  constructor(message: string, options?: ErrorOptions) {
    super(EXIT.usage, message, options)
    this.name = 'UsageError'
  }
}

/** Turns a `TypeError` of the package into a usage error: here the user made the call. */
export async function asUsage<Result>(work: () => Result): Promise<Awaited<Result>> {
  try {
    return await work()
  } catch (error) {
    throw error instanceof TypeError ? new UsageError(error.message, { cause: error }) : error
  }
}

/** The code of a system error, such as `ECONNREFUSED`. */
export function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined
  return typeof error.code === 'string' ? error.code : undefined
}
