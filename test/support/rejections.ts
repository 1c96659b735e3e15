import { StoreError } from 'tix-webhooks'
import { expect } from 'vitest'

/** Expects a `StoreError` with this advice in its message. */
export async function expectUnavailable(
  work: Promise<unknown>,
  message: RegExp,
  code = 'store_unavailable',
): Promise<void> {
  const error = await work.then(
    (value) => expect.fail(`It resolved to ${JSON.stringify(value)}.`),
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(StoreError)
  expect(error).toMatchObject({ code, message: expect.stringMatching(message) })
}
