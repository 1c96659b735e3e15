/** A point at which a delivery can be stopped, so that its process can be killed there. */
export type Mark =
  | 'after the claim'
  | 'in the handler'
  | 'after the effect'
  | 'before completing'
  | 'after completing'
  | 'before COMMIT'
  | 'while COMMIT is under way'
  | 'after COMMIT'

export type Program = 'store' | 'inbox'

/** The settings that an app starts with. */
export interface AppSettings {
  readonly program: Program
  readonly client: string
  readonly url: string
  /** The prefix of all keys, or the schema of all tables: each test has its own. */
  readonly place: string
}

/** The messages of an app to the test. */
export type AppMessage =
  | { readonly port: number }
  /** This delivery has come to its mark, and stays there. */
  | { readonly stopped: string }

/** The headers with a test's instructions to an app. */
export const DELIVERY_HEADER = 'x-test-delivery'
export const STOP_HEADER = 'x-test-stop-at'
export const FAIL_HEADER = 'x-test-fail'

/** The header of an answer whose failure could not be kept. */
export const NOT_KEPT_HEADER = 'x-test-not-kept'
