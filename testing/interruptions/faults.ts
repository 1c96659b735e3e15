/** A call of the outside world, made by a process. */
export interface Call {
  /** 1 is the first of the run. */
  readonly number: number
  /** Such as `mailer.send`, or `pool.connect().query`. */
  readonly name: string
  /** Its number among the calls of this name, from 1. */
  readonly nth: number
  /** Whether it was one of an idempotency store. */
  readonly isOfStore: boolean
  /** Whether it returned a promise. */
  isAsync: boolean
}

/** The fault that takes the place of a call, or of its end. */
export type FaultKind = 'dies before' | 'dies after' | 'rejects without effect' | 'rejects after its effect'

/** A fault at one call. */
export interface Fault extends Pick<Call, 'number' | 'name' | 'nth' | 'isAsync'> {
  readonly kind: FaultKind
}

/** The name of a fault, as a test shows it. */
export function describeFault({ kind, name, number }: Fault): string {
  return kind.startsWith('dies') ? `${kind} ${name} (call ${number})` : `${kind}: ${name} (call ${number})`
}

/** Whether a call is that of a fault. By its name, because calls at the same time may come in another order. */
export function isAt(fault: Fault | undefined, { name, nth }: Call): boolean {
  return fault !== undefined && fault.name === name && fault.nth === nth
}

/** The error of a call that rejects instead. */
export function timeout(name: string): Error {
  return Object.assign(new Error(`${name} timed out: this is the interruption.`), { code: 'ETIMEDOUT' })
}
