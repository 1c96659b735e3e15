import { describeType } from '../../src/internal.js'

/** The part of a binding to the objects of a class that is used. */
export interface DurableObjectNamespace {
  idFromName(name: string): unknown
  get(id: never): DurableObjectStub
}

/** One object, as its callers see it. */
interface DurableObjectStub {
  fetch(url: string, init: { method: string; body: string }): Promise<DurableObjectAnswer>
}

export interface DurableObjectAnswer {
  readonly ok: boolean
  readonly status: number
  text(): Promise<string>
}

/** The part of an object's state that is used. */
export interface DurableObjectState {
  readonly storage: DurableObjectStorage
}

export interface DurableObjectStorage {
  readonly sql: { exec(sql: string, ...parameters: never[]): { toArray(): unknown[] } }
  getAlarm(): Promise<number | null>
  setAlarm(atMs: number): Promise<void>
}

/** @throws TypeError when it is not a namespace */
export function checkNamespace(namespace: DurableObjectNamespace): void {
  if (typeof namespace?.idFromName === 'function' && typeof namespace.get === 'function') return
  throw new TypeError(
    `namespace must be a binding to Durable Objects, such as env.WEBHOOKS, not ${describeType(namespace)} without its idFromName and get: is it listed in durable_objects of the wrangler configuration?`,
  )
}
