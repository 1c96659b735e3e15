import { StoreError } from '../../src/index.js'
import { type OpenResult, ROLLBACK_MS, within } from '../../src/internal.js'
import type { InboxRun, Opening } from '../sql/inbox.js'
import type { WriteValues } from '../sql/ledger.js'
import { unexpectedRows } from '../sql/unexpected-rows.js'
import { isFinal, openAnswer } from '../sql/verdict.js'
import { hasEnded } from './advice.js'
import { retryConflicts } from './conflicts.js'
import type { Database } from './database.js'
import { type Ask, type CheckedDriver, type Ending, MARK } from './drivers/driver.js'
import { type MysqlLedger, RESET_REGISTER, registerAfter } from './ledger.js'
import { checkSlots } from './locks.js'
import { bytes } from './sql.js'
import { upserting, writtenIn } from './statements.js'
import type { Table } from './table.js'

interface Parts<Tx> {
  readonly database: Database
  readonly driver: CheckedDriver<unknown, Tx>
  readonly ledger: MysqlLedger
  readonly events: Table
  readonly locks: Table
  readonly idleMs: number
}

/** An event that is in the transaction of another delivery: only what is committed tells more. */
type Opened = OpenResult | { readonly status: 'locked' }

/** Returns what runs handlers in transactions, which are committed together with the row of the event. See `InboxBackend.transact`. */
export function runnerOf<Tx>({
  database,
  driver,
  ledger,
  events,
  locks,
  idleMs,
}: Parts<Tx>): (run: InboxRun<Tx>) => Promise<OpenResult> {
  async function open(ask: Ask, { name, values }: Opening): Promise<Opened> {
    if (driver.ask === undefined) await ask(RESET_REGISTER)
    const send = async (isLong: boolean) =>
      writtenIn(await registerAfter(ask, upserting(events.name, name, values, { locks: locks.name, isLong })))
    const first = await send(false)
    const written = first === 'left' ? await send(true) : first
    if (written === 'nothing') return { status: 'locked' }
    if (written === 'left' || written.verdict === undefined) throw unexpectedRows()
    return openAnswer(written.verdict, name === 'openReplay')
  }

  return async function transact(run) {
    const { opening } = run
    /** Whether the transaction has ended early; `undefined` if it could not be asked. */
    let isMarkLost = false as boolean | undefined

    async function inTransaction(tx: unknown, handed: Tx): Promise<Opened> {
      const ask: Ask = (sql) => driver.query(tx, sql)
      await database.find(ask)
      const opened = opening === undefined ? PLAIN : await open(ask, opening)
      if (opened.status !== 'opened') return opened
      await ask(MARK)
      await run.work(handed, opened.attempt)
      return opened
    }

    function endingOf({ status }: Opened): Ending {
      if (status === 'opened')
        return { commits: true, isMarked: true, proof: opening && proofOf(events, opening.values) }
      // The statement that has found the row has also touched it: the commit waits until both are on disk.
      return { commits: status === 'duplicate' || status === 'parked' }
    }

    const onMarkLost = (isKnown: boolean): void => {
      isMarkLost = isKnown || undefined
    }
    const hasBegun = (): boolean => run.phase !== 'opening'

    try {
      const opened = await retryConflicts(
        () => driver.transaction(inTransaction, endingOf, { idleMs, isMarked: hasBegun, onMarkLost }),
        () => !hasBegun(),
      )
      return opened.status === 'locked' ? await denied(opening) : opened
    } catch (error) {
      const hasEndedEarly = isMarkLost === true || (run.thrown === undefined && hasEnded(error))
      if (opening !== undefined && (hasEndedEarly || isMarkLost === undefined)) {
        if (await withdraw(opening.values, hasEndedEarly)) throw rolledBack(COMMITTED_EARLY, error)
      }
      if (run.thrown !== undefined) throw run.thrown.error
      if (hasEndedEarly) throw rolledBack(ENDED_EARLY, error)
      throw events.unavailable(error)
    }
  }

  async function denied(opening: Opening | undefined): Promise<OpenResult> {
    const found = opening && (await ledger.find(opening.values.key))
    await driver.reading((ask) => checkSlots(ask, locks))
    return { status: found !== undefined && isFinal(found) ? 'duplicate' : 'in_flight' }
  }

  /**
   * Whether a statement of the handler has committed the row of a run that failed: it is removed, or the event would be taken for
   * handled.
   *
   * @param isLikely whether the transaction is known to have ended early, and not only its connection
   */
  async function withdraw(values: WriteValues, isLikely: boolean): Promise<boolean> {
    const withdrawn = retryConflicts(async () => {
      const { rows } = await driver.reading((ask) => ask(proofOf(events, values)))
      if (rows.length > 0)
        await driver.transaction((tx) => driver.query(tx, `DELETE ${ofRun(events, values)}`))
      return rows.length > 0
    })
    try {
      return isLikely ? await withdrawn : await within(withdrawn, ROLLBACK_MS, () => false)
    } catch (cause) {
      if (isLikely)
        throw rolledBack(
          `${COMMITTED_EARLY} The row ${values.key} of ${events.name} could not be removed: delete it.`,
          cause,
        )
      return false
    }
  }
}

/** Of a plain transaction. */
const PLAIN: OpenResult = { status: 'opened', attempt: 1 }

/** A statement that returns a row if the run has committed the event. */
function proofOf(events: Table, values: WriteValues): string {
  return `SELECT 1 ${ofRun(events, values)}`
}

function ofRun({ name }: Table, { key, token }: WriteValues): string {
  return `FROM ${name} WHERE event_key = ${bytes(key)} AND token = ${bytes(String(token))} AND state = 'handled'`
}

const rolledBack = (text: string, cause: unknown): StoreError =>
  new StoreError('rolled_back', text, { cause })

const ENDED_EARLY =
  'The database rolled back the transaction in the middle of the handler, which went on: after a deadlock (error 1213) or a time-out of a lock that it caught, or by a ROLLBACK; or a statement committed it, where the event has no key. What it wrote after that is rolled back, and the event runs again. Let such an error leave the handler.'
const COMMITTED_EARLY =
  'The handler COMMITTED the transaction of the inbox in the middle: by CREATE, ALTER, DROP, TRUNCATE, LOCK TABLES or another statement that commits by itself, or by BEGIN or COMMIT. What it wrote before that is kept, what it wrote after is rolled back, and the event runs again: effects can double. Keep such statements out of handlers.'
