import fc from 'fast-check'
import type { ClaimRequest, RemoteStore } from 'tix-webhooks'
import { afterEach, expect, test } from 'vitest'
import { checkedStore, checkOnce } from '../../../stores/lib/store-rules.js'
import { notRefusedKeys, notRefusedOnces, notRefusedRequests } from '../../support/invalid-inputs.js'

const CLAIM: ClaimRequest = { key: 'k', token: 't.1', leaseMs: 60_000, retainMs: 604_800_000 }

/** The calls that a backend got: none if the request was refused. */
const asked: unknown[][] = []
const answering =
  (name: string, answer: unknown) =>
  (...args: unknown[]): Promise<never> => {
    asked.push([name, ...args])
    return Promise.resolve(answer as never)
  }
const unchecked = {
  claim: answering('claim', { status: 'completed' }),
  renew: answering('renew', true),
  complete: answering('complete', false),
  release: answering('release', true),
  isHandled: answering('isHandled', true),
  check: answering('check', undefined),
  ddl: 'CREATE TABLE',
} satisfies RemoteStore & Record<string, unknown>
const store = checkedStore(unchecked)

afterEach(() => {
  asked.length = 0
})

test('a checked store passes on what is valid, gives the very promises of the store, and keeps its other members', async () => {
  const calls = [
    store.claim(CLAIM),
    store.renew(CLAIM, Number.MIN_VALUE),
    store.complete(CLAIM, Number.MAX_SAFE_INTEGER, { reason: 'a test order' }),
    store.release(CLAIM),
    store.isHandled('k'),
    store.check(),
  ]
  expect(await Promise.all(calls)).toEqual([{ status: 'completed' }, true, false, true, true, undefined])
  expect(asked).toEqual([
    ['claim', CLAIM],
    ['renew', CLAIM, Number.MIN_VALUE],
    ['complete', CLAIM, Number.MAX_SAFE_INTEGER, { reason: 'a test order' }],
    ['release', CLAIM],
    ['isHandled', 'k'],
    ['check'],
  ])
  const promise = Promise.resolve(true)
  expect(checkedStore<RemoteStore>({ ...unchecked, release: () => promise }).release(CLAIM)).toBe(promise)
  expect(store.ddl).toBe('CREATE TABLE')
})

test('what is invalid is refused with a TypeError that names the field, and the backend is not asked', async () => {
  expect(await notRefusedRequests(store)).toEqual([])
  expect(await notRefusedKeys(store)).toEqual([])
  const inbox = { once: async (request: Parameters<typeof checkOnce>[0]) => checkOnce(request) as never }
  expect(await notRefusedOnces(inbox)).toEqual([])
  expect(() => checkOnce({ key: null, retainMs: 0.5 })).not.toThrow()
  expect(asked).toEqual([])
})

test.each<[string, number]>([
  ['key', 255],
  ['token', 64],
])('a %s is printable ASCII of at most %i characters, and nothing else', async (field, max) => {
  const texts = fc.oneof(
    fc.string({ maxLength: 80 }),
    fc.string({ unit: 'binary', maxLength: 80 }),
    fc.integer({ min: max - 1, max: max + 1 }).map((length) => 'x'.repeat(length)),
  )
  await fc.assert(
    fc.asyncProperty(texts, async (text) => {
      const isValid = [...text].every((c) => c >= ' ' && c <= '~') && text.length >= 1 && text.length <= max
      const error = await store.release({ ...CLAIM, [field]: text }).then(
        () => undefined,
        (thrown: Error) => thrown,
      )
      expect(error === undefined).toBe(isValid)
      // It may be from a stranger, and long.
      if (text.length > 20) expect(error?.message ?? '').not.toContain(text)
    }),
    { numRuns: 200 },
  )
})
