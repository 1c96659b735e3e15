/** The message of an error that was caught. */
export function messageOf(error: unknown): string {
  // A connection that was tried at several addresses fails with a list and no message of its own.
  if (error instanceof AggregateError && error.message === '') return messageOf(error.errors[0])
  return error instanceof Error ? error.message : String(error)
}
