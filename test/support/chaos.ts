import fc from 'fast-check'
import { Discard, type LedgerStore, RetryLater } from 'tix-webhooks'
import type { TransactionFate } from './honest-inbox.js'
import { never } from './promises.js'
import { sleep } from './virtual-time.js'

/** The fate of one store call, on the way there and on the way back. */
export interface CallFate {
  readonly kind: 'ok' | 'refused' | 'lost-reply' | 'hangs-before' | 'hangs-after'
  /** Seconds until it reaches the store, and until its reply arrives. After more than 2 s the receiver has given it up. */
  readonly there: number
  readonly back: number
}

/** The end of a handler, and how many seconds it takes. */
export interface HandlerFate {
  readonly kind: 'returns' | 'throws' | 'retry_later' | 'discards' | 'never' | 'throws at once'
  readonly takes: number
}

const seconds = fc.constantFrom(0, 0, 0, 0.1, 1, 2.5, 30)

const often = <T>(usual: T, ...others: T[]): fc.Arbitrary<T> =>
  fc.oneof({ weight: 6, arbitrary: fc.constant(usual) }, { weight: 4, arbitrary: fc.constantFrom(...others) })

export const callFates: fc.Arbitrary<CallFate> = fc.record({
  kind: often<CallFate['kind']>('ok', 'refused', 'lost-reply', 'hangs-before', 'hangs-after'),
  there: seconds,
  back: seconds,
})

export const transactionFates: fc.Arbitrary<TransactionFate> = fc.record({
  opening: often<TransactionFate['opening']>('ok', 'refused', 'hangs'),
  commit: often<TransactionFate['commit']>('ok', 'refused', 'lost reply', 'hangs', 'made and hangs'),
  // 10 is the deadline itself.
  opensAfter: often(0, 0.1, 1, 9.999, 10, 12),
  commitTakes: often(0, 0.1, 1, 9.999, 10, 40),
})

export const handlerFates: fc.Arbitrary<HandlerFate> = fc.record({
  kind: fc.constantFrom<HandlerFate['kind'][]>(
    'returns',
    'returns',
    'throws',
    'retry_later',
    'discards',
    'never',
    'throws at once',
  ),
  takes: fc.constantFrom(0, 0, 1, 9, 15, 70, 400),
})

/** A store behind a bad network: each call meets the next fate; after the last one, all calls succeed. */
export function storeBehind(fates: readonly CallFate[], base: LedgerStore): LedgerStore {
  let calls = 0
  async function meet<T>(call: () => T | Promise<T>): Promise<T> {
    const fate = fates[calls++] ?? { kind: 'ok', there: 0, back: 0 }
    await sleep(fate.there)
    if (fate.kind === 'refused') throw new Error('connection refused')
    if (fate.kind === 'hangs-before') return never()
    const result = await call()
    await sleep(fate.back)
    if (fate.kind === 'lost-reply') throw new Error('connection reset')
    if (fate.kind === 'hangs-after') return never()
    return result
  }
  return {
    claim: (request) => meet(() => base.claim(request)),
    renew: (lease, leaseMs) => meet(() => base.renew(lease, leaseMs)),
    complete: (lease, retainMs, discarded) => meet(() => base.complete(lease, retainMs, discarded)),
    release: (lease) => meet(() => base.release(lease)),
    fail: (lease, failed) => meet(() => base.fail(lease, failed)),
    keep: (failed) => meet(() => base.keep(failed)),
    forget: (key) => meet(() => base.forget(key)),
    ledger: base.ledger,
  }
}

/** Plays one run of a handler. */
export function play({ kind, takes }: HandlerFate): Promise<void> {
  if (kind === 'throws at once') throw new Error('at once')
  return sleep(takes).then(() => {
    if (kind === 'throws') throw new Error('the handler failed')
    if (kind === 'retry_later') throw new RetryLater({ afterSeconds: 7 })
    if (kind === 'discards') throw new Discard()
    return kind === 'never' ? never() : undefined
  })
}
