import { type FailedDelivery, StoreError } from '../../src/index.js'
import { STATEMENT_MS } from '../../src/internal.js'
import { createBursts } from './bursts.js'

/** The most connections that failures use, however many events fail. Each failure is a statement of its own: it may have a megabyte. */
const LIMITS = { total: 2, perKind: 2, size: 1, waitMs: STATEMENT_MS }
/** The most bytes of failures that wait to be kept, in this process. */
const MAX_WAITING_BYTES = 64 * 2 ** 20

/**
 * Returns the same function, which keeps a failure in a database, with a bound on how many it keeps at the same time and on the bytes that
 * wait. Those of one key are kept in the order of their arrival.
 */
export function keepInTurn<Inbox, Kept>(
  keep: (failed: FailedDelivery, inbox?: Inbox) => Promise<Kept>,
): (failed: FailedDelivery, inbox?: Inbox) => Promise<Kept> {
  let waitingBytes = 0
  const send = ({ failed, inbox }: { failed: FailedDelivery; inbox: Inbox | undefined }): Promise<Kept> =>
    keep(failed, inbox)
  const sendInTurn = createBursts(LIMITS)<
    { readonly key: string; readonly failed: FailedDelivery; readonly inbox: Inbox | undefined },
    Kept
  >({
    sendOne: send,
    sendMany: (requests) => Promise.all(requests.map(send)),
    isOfOneRequest: () => false,
  })

  return async (failed, inbox) => {
    const { length } = failed.rawBody
    if (waitingBytes > 0 && waitingBytes + length > MAX_WAITING_BYTES) throw tooMany()
    waitingBytes += length
    try {
      return await sendInTurn({ key: failed.key, failed, inbox })
    } finally {
      waitingBytes -= length
    }
  }
}

function tooMany(): StoreError {
  return new StoreError(
    'store_unavailable',
    `Failures of ${MAX_WAITING_BYTES / 2 ** 20} MiB wait to be kept, so this one was not sent: is the database slow, or do all deliveries fail?`,
  )
}
