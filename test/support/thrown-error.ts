/** The error that a call throws or rejects with, which must be an Error. */
export async function errorOf(call: () => unknown): Promise<Error> {
  try {
    await call()
  } catch (error) {
    if (error instanceof Error) return error
    throw new Error('What was thrown is not an Error.')
  }
  throw new Error('Nothing was thrown.')
}
