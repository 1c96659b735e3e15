import type { Context, Hono } from 'hono'
import type { ErrorCode } from './errors.js'
import type { Caller } from './protection/authentication.js'

/** The variables of a request in Hono's context. */
export interface Env {
  Bindings: {
    /** Closes the connection of the request without an answer. Absent if the request has no connection. */
    drop?: () => void
  }
  Variables: {
    requestId: string
    /** Set once the API key is accepted. */
    caller: Caller
    /** Set if the answer is an error. */
    error: { readonly code: ErrorCode; readonly message: string }
    /** The note on the request in the log, for people. */
    note: string
    /** Set if the connection was closed without an answer. */
    isDropped: boolean
  }
}

export type App = Hono<Env>
export type RequestContext = Context<Env>
