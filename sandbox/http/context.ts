import type { Context, Hono } from 'hono'
import type { ErrorCode } from './faults.js'
import type { Caller } from './protection/authentication.js'

/** The variables of a request in Hono's context. */
export interface Env {
  Variables: {
    requestId: string
    /** There where the key was taken. */
    caller: Caller
    /** There where the answer is an error. */
    errorCode: ErrorCode
  }
}

export type App = Hono<Env>
export type RequestContext = Context<Env>
