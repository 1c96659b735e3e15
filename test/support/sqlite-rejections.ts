import { StoreError } from 'tix-webhooks'
import { expect } from 'vitest'

/** Expects a `store_unavailable` with this advice in its message. */
export async function expectUnavailable(work: Promise<unknown>, message: RegExp): Promise<void> {
  const error = await work.then(
    (value) => expect.fail(`It resolved to ${JSON.stringify(value)}.`),
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(StoreError)
  expect(error).toMatchObject({ code: 'store_unavailable', message: expect.stringMatching(message) })
}
