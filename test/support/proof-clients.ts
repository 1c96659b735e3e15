import type { Failures, IdempotencyStore, Inbox } from 'tix-webhooks'
import type { Mark } from './apps/protocol.js'
import { MYSQL, MYSQL_INBOXES } from './proof-mysql.js'
import { POSTGRES, INBOXES as POSTGRES_INBOXES } from './proof-postgres.js'
import { REDIS } from './proof-redis.js'

/** The place of an app on a server. */
export interface SqlPlace {
  readonly url: string
  /** The prefix of all keys, or the schema or the database of all tables. */
  readonly place: string
  /** Default 10, as in all libraries. */
  readonly connections?: number
}

/** One app's connection to the records and effects. */
interface Access {
  readonly store: IdempotencyStore
  /** The handler's effect. */
  effect(order: string, attempt: number | undefined): Promise<unknown>
  close(): Promise<unknown>
}

/** Shared connections. */
export interface Pooled {
  /** Takes a connection, and returns a function that releases it. */
  occupy(): Promise<() => unknown>
  close(): Promise<unknown>
}

/** The records are in other transactions than the effects. */
export type StoreAccess = Access & Pooled

/** The records are in the same transactions as the effects. */
export interface InboxAccess extends Pooled {
  readonly inbox: Inbox<unknown>
  /** On the same connections. */
  readonly failures: Failures
  /** The handler's effect. */
  effect(order: string, tx: unknown): Promise<unknown>
}

/** Stops a delivery that has come to this mark, if it is to be stopped there. */
export type Pass = (mark: Mark) => Promise<void>

export type OpenStore = (place: SqlPlace) => Promise<Access>
export type OpenInbox = (place: SqlPlace, pass?: Pass) => Promise<InboxAccess>

/** The inboxes on SQL servers, by the client. */
export const SQL_INBOXES: Readonly<Record<string, OpenInbox>> = { ...POSTGRES_INBOXES, ...MYSQL_INBOXES }

/** All stores, by the client. */
export const STORES: Readonly<Record<string, OpenStore>> = { ...REDIS, ...POSTGRES, ...MYSQL }
