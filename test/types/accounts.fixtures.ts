import type { Request as ExpressRequest } from 'express'
import type { FastifyRequest } from 'fastify'
import { type Inbox, unchecked } from 'tix-webhooks'

/** A row, as an ORM types it: more fields, nullable ones, dates. */
export interface Shop {
  id: string
  secret: string[]
  mail: string | null
  createdAt: Date
}
export interface Tx {
  query(text: string): void
}
export interface Refund {
  readonly cents: number
}
export interface AppEnv {
  Bindings: { readonly SHOPS: ReadonlyMap<string, Shop> }
}

export type OfExpress = ExpressRequest<{ account: string }>
export type OfFastify = FastifyRequest<{ Params: { account: string } }>

export declare const inbox: Inbox<Tx>
export declare const shops: { find(id: string): Promise<Shop | null>; known(id: string): Shop | undefined }
export const schemas = { 'order.refunded': unchecked<Refund>() }
