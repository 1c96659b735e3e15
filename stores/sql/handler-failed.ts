/**
 * With this, the work of a transaction rejects if it was the handler that failed: not with the handler's error, which may be of another
 * server, or have a code by which a library would run it again.
 */
export class HandlerFailed extends Error {
  /** @param cause the handler's error, if none of our statements has shown whether this server takes writes */
  constructor(cause?: unknown) {
    super('The handler failed, so its transaction is rolled back.', { cause })
  }
}
