import { type Inbox, isWebhookError, type LedgerInbox, memoryStore, type OnceResult } from 'tix-webhooks'
import { never } from './promises.js'
import { sleep } from './virtual-time.js'

/** The fate of one transaction: until it is open, and at its commit. */
export interface TransactionFate {
  readonly opening: 'ok' | 'refused' | 'hangs'
  readonly commit: 'ok' | 'refused' | 'lost reply' | 'hangs' | 'made and hangs'
  /** Seconds until it is open, and until the commit is answered. */
  readonly opensAfter: number
  readonly commitTakes: number
}

export const ALL_WELL: TransactionFate = { opening: 'ok', commit: 'ok', opensAfter: 0, commitTakes: 0 }

/** The handlers' access to the database. */
export interface Ledger {
  /** @throws when the transaction is over */
  write(effect: string): void
}

interface HonestInboxOptions {
  /** One for each transaction; after the last one, all transactions succeed. */
  readonly fates?: readonly TransactionFate[]
  /**
   * Whether a second delivery is refused while the first one is in its transaction, as in Postgres; otherwise only one commits,
   * as in SQLite.
   */
  readonly locks?: boolean
}

/** When the server ends a transaction that is neither committed nor rolled back. */
const IDLE_TIMEOUT_MS = 450_000

/** A correct inbox in memory: writes in a transaction are kept at its commit, together with the record, or not at all. */
export function honestInbox({ fates = [], locks = true }: HonestInboxOptions = {}) {
  const effects: string[] = []
  const records = new Map<string, 'handled' | 'discarded'>()
  const locked = new Map<string, symbol>()
  const asked: (string | null)[] = []
  let open = 0
  let transactions = 0

  const inbox: Inbox<Ledger> = {
    async once({ key }, work): Promise<OnceResult> {
      asked.push(key)
      const fate = fates[transactions++] ?? ALL_WELL
      await sleep(fate.opensAfter)
      if (fate.opening === 'refused') throw new Error('connect ECONNREFUSED')
      if (fate.opening === 'hangs') return never()
      if (key !== null && records.has(key)) return { status: 'duplicate' }
      if (key !== null && locks && locked.has(key)) return { status: 'in_flight' }

      const written: string[] = []
      const mine = Symbol('transaction')
      let isOver = false
      const idle = setTimeout(end, IDLE_TIMEOUT_MS)
      if (key !== null) locked.set(key, mine)
      function end(): void {
        isOver = true
        clearTimeout(idle)
        if (key !== null && locked.get(key) === mine) locked.delete(key)
      }

      let status: 'handled' | 'discarded' = 'handled'
      open += 1
      try {
        await work({
          write(effect) {
            if (isOver) throw new Error('the transaction is over')
            written.push(effect)
          },
        })
      } catch (error) {
        if (!isWebhookError(error) || error.code !== 'discarded') {
          end()
          throw error
        }
        written.length = 0
        status = 'discarded'
      } finally {
        open -= 1
      }

      await sleep(fate.commitTakes)
      if (fate.commit === 'hangs') return never()
      const wasOver = isOver
      end()
      if (wasOver) throw new Error('terminating connection due to idle-in-transaction timeout')
      if (fate.commit === 'refused') throw new Error('could not serialize access')
      if (key !== null && records.has(key)) return { status: 'duplicate' }
      effects.push(...written)
      if (key !== null) records.set(key, status)
      if (fate.commit === 'lost reply') throw new Error('connection reset')
      return fate.commit === 'made and hangs' ? never() : { status }
    },
  }

  return {
    inbox,
    /** The committed effects, in order. */
    effects,
    records,
    /** The key of each requested transaction. */
    asked,
    isLocked: (key: string) => locked.has(key),
    /** The number of open transactions, whose work has not ended. */
    get open() {
      return open
    },
  }
}

/** The same as a ledger: it keeps why the event of a transaction that was rolled back is not handled. */
export function ledgerInbox(options?: HonestInboxOptions) {
  const honest = honestInbox(options)
  const store = memoryStore()
  const { forget, ledger } = store
  const inbox: LedgerInbox<Ledger> = {
    async once(request, work) {
      const { key, retainMs, replay } = request
      if (key === null) return honest.inbox.once(request, work)
      const known = (await ledger.get(key))?.failure
      const seen = known === undefined ? 0 : known.count + known.replays
      if (known !== undefined && replay === undefined && (await ledger.get(key))?.state === 'parked')
        return { status: 'parked' }
      if (replay !== undefined && replay.seen !== seen && !honest.records.has(key))
        return { status: 'in_flight' }
      const ended = await honest.inbox.once(request, (tx) => work(tx, { attempt: seen + 1 }))
      if (ended.status === 'handled' || ended.status === 'discarded') {
        store.forget(key)
        store.complete({ key, token: '' }, retainMs)
      }
      return ended
    },
    keep: (failed) => (honest.isLocked(failed.key) ? 'in_flight' : store.keep(failed)),
    forget,
    ledger,
  }
  return { ...honest, inbox }
}
