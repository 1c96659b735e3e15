import fc from 'fast-check'
import { expect, onTestFinished, test, vi } from 'vitest'
import { type Deferred, deferred } from '../../../src/lib/promises.js'
import { createBursts } from '../../../stores/sql/bursts.js'
import { throws, turns } from '../../support/promises.js'
import { runs } from '../../support/runs.js'

const refused = new Error('refused')
const WAIT_MS = 1_000
const LIMITS = {
  ...{ total: 4, perKind: 2 },
  isOfOneRequest: (error: unknown): boolean => error === refused,
}

interface Request {
  readonly key: string
  readonly id?: number
}

interface Statement {
  readonly requests: readonly Request[]
  readonly answer: Deferred<readonly string[]>
}

/** A backend of which the test answers each statement. */
function backend({ size = 5, ...limits }: Partial<typeof LIMITS> & { size?: number } = {}) {
  const sent: Statement[] = []
  const kindOf = createBursts({ ...LIMITS, ...limits })
  function send(requests: readonly Request[]): Promise<readonly string[]> {
    const answer = deferred<readonly string[]>()
    sent.push({ requests, answer })
    return answer.promise
  }
  const burstOf = (bytesOf?: (request: Request) => number) =>
    kindOf<Request, string>({ size, send, waitMs: WAIT_MS, ...(bytesOf && { bytesOf }) })
  const keys = (): string[] => sent.map(({ requests }) => requests.map(({ key }) => key).join(''))
  /** Answers the statement of this number. */
  async function answer(n: number): Promise<void> {
    const { requests, answer } = sent[n] as Statement
    answer.resolve(requests.map(({ key, id = '' }) => `${key}${id}`))
    await turns(1)
  }
  async function fail(n: number, error: unknown): Promise<void> {
    sent[n]?.answer.reject(error)
    await turns(1)
  }
  return { burst: burstOf(), burstOf, sent, keys, answer, fail }
}

/** Sends a request for each letter, one turn after the other. */
async function arrive(burst: (request: Request) => Promise<string>, letters: string) {
  const calls = []
  for (const key of letters) {
    const call = burst({ key })
    call.catch(() => {})
    calls.push(call)
    await turns(1)
  }
  return calls
}

test('a request that is alone is sent in the turn of its arrival, without a timer', async () => {
  const { burst, keys, answer } = backend()
  const call = burst({ key: 'a' })
  // No timer can have run by then.
  await Promise.resolve()
  expect(keys()).toEqual(['a'])
  await answer(0)
  expect(await call).toBe('a')
})

test('what arrives in one turn is sent together, in the order of keys, and each gets its own answer', async () => {
  const { burst, keys, answer } = backend()
  const calls = [...'cab'].map((key) => burst({ key }))
  await turns(1)
  expect(keys()).toEqual(['abc'])
  await answer(0)
  expect(await Promise.all(calls)).toEqual(['c', 'a', 'b'])
})

test('all kinds share the limit, and the one that waits longest is next', async () => {
  const { burstOf, keys, answer } = backend()
  const [one, two, three, four] = [burstOf(), burstOf(), burstOf(), burstOf()]
  await arrive(one, 'abc')
  await arrive(two, 'lmn')
  await arrive(three, 'x')
  await arrive(four, 'y')
  expect(keys()).toEqual(['a', 'b', 'l', 'm'])
  await answer(0)
  await answer(1)
  await answer(2)
  expect(keys().slice(4)).toEqual(['x', 'y', 'c'])
})

test('one that the backend refuses does not fail the others, and is found by halves', async () => {
  const { burst, keys, answer, fail } = backend({ size: 8, perKind: 1 })
  const calls = [...'abcdefgh'].map((key) => burst({ key }))
  const results = Promise.allSettled(calls)
  await turns(1)
  for (let n = 0; n < keys().length; n++) {
    if (keys()[n]?.includes('c')) await fail(n, refused)
    else await answer(n)
  }
  expect(keys()).toEqual(['abcdefgh', 'abcd', 'ab', 'cd', 'c', 'd', 'efgh'])
  const statuses = (await results).map(({ status }) => status)
  expect(statuses.map((status) => status === 'rejected')).toEqual([...'abcdefgh'].map((key) => key === 'c'))
})

test('a lost connection fails each call of its statement, and nothing is sent again', async () => {
  const { burst, keys, fail } = backend()
  const lost = new Error('lost')
  const calls = await arrive(burst, 'abcde')
  await fail(0, lost)
  await fail(2, lost)
  expect(keys()).toEqual(['a', 'b', 'cde'])
  for (const i of [0, 2, 3, 4]) await expect(calls[i]).rejects.toBe(lost)
})

test('a client that throws, or returns no answers, fails each call, and the next is sent', async () => {
  const replies: (() => unknown)[] = [
    throws(new Error('thrown')),
    () => undefined,
    () => Promise.resolve(['fine', 'fine']),
  ]
  const burst = createBursts(LIMITS)<Request, string>({
    size: 5,
    waitMs: WAIT_MS,
    send: () => replies.shift()?.() as Promise<string[]>,
  })
  const two = (): Promise<unknown> => Promise.allSettled([burst({ key: 'a' }), burst({ key: 'b' })])
  await expect(burst({ key: 'a' })).rejects.toThrow('thrown')
  const failed = { status: 'rejected', reason: expect.any(TypeError) }
  expect(await two()).toEqual([failed, failed])
  const answered = { status: 'fulfilled', value: 'fine' }
  expect(await two()).toEqual([answered, answered])
})

test('what has waited longer than its limit is not sent, and what is behind it is', async () => {
  let now = 0
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now)
  onTestFinished(() => clock.mockRestore())
  const { burst, keys, fail } = backend()
  const calls = await arrive(burst, 'abccc')
  now = 1_001
  calls.push(...(await arrive(burst, 'cd')))
  await fail(0, new Error('lost'))
  expect(keys()).toEqual(['a', 'b', 'cd'])
  for (const late of [2, 3, 4]) {
    await expect(calls[late]).rejects.toMatchObject({
      code: 'store_unavailable',
      message: expect.stringMatching(/1 s behind other calls/),
    })
  }
})

test('those that wait and are under way have no more than 64 MiB, but for one that has more', async () => {
  const { burstOf, keys, answer } = backend({ size: 1 })
  const burst = burstOf(({ id = 0 }) => id * 2 ** 20)
  const call = (key: string, id: number) => burst({ key, id })
  const kept = [call('a', 32), call('b', 32)]
  await expect(call('c', 1)).rejects.toMatchObject({
    code: 'store_unavailable',
    message: expect.stringMatching(/^Failures of 64 MiB wait to be kept/),
  })
  expect(keys()).toEqual(['a', 'b'])
  await answer(0)
  await answer(1)
  kept.push(call('d', 65))
  await turns(1)
  await answer(2)
  expect(await Promise.all(kept)).toEqual(['a32', 'b32', 'd65'])
})

test('its laws, for any arrivals, answers and failures', async () => {
  const step = fc.oneof(
    { weight: 3, arbitrary: fc.record({ key: fc.constantFrom(...'abcdef'), kind: fc.nat(1) }) },
    { weight: 2, arbitrary: fc.record({ settle: fc.nat(9), how: fc.constantFrom('answer', 'lost') }) },
  )
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), fc.constantFrom(...'abcdef'), async (steps, bad) => {
      const { burstOf, sent, answer, fail } = backend({ size: 3, total: 3 })
      const kinds = [burstOf(), burstOf()]
      const open = new Set<number>()
      const calls: Promise<string>[] = []
      const order = new Map<string, number[]>()
      let seen = 0
      function check(): void {
        for (; seen < sent.length; seen++) {
          open.add(seen)
          const keys = sent[seen]?.requests.map(({ key }) => key) ?? []
          expect(keys.length).toBeLessThanOrEqual(3)
          expect(keys).toEqual([...new Set(keys)].sort())
        }
        expect(open.size).toBeLessThanOrEqual(3)
        for (const kind of [0, 1]) {
          const underWay = [...open].flatMap(
            (n) => sent[n]?.requests.filter(({ id = 0 }) => id % 2 === kind) ?? [],
          )
          expect(new Set(underWay.map(({ key }) => key)).size).toBe(underWay.length)
        }
      }
      async function settle(n: number, how: string): Promise<void> {
        open.delete(n)
        const { requests } = sent[n] as Statement
        if (how === 'lost') await fail(n, new Error('lost'))
        else if (requests.some(({ key }) => key === bad)) await fail(n, refused)
        else await answer(n)
        check()
      }
      for (const one of steps) {
        if ('key' in one) {
          const id = calls.length * 2 + one.kind
          const call = (kinds[one.kind] as (typeof kinds)[0])({ key: one.key, id })
          const place = calls.push(call)
          const mark = () =>
            void order.set(`${one.key}${one.kind}`, [...(order.get(`${one.key}${one.kind}`) ?? []), place])
          call.then(mark, mark)
          await turns(1)
          check()
        } else {
          const n = [...open][one.settle % Math.max(1, open.size)]
          if (n !== undefined) await settle(n, one.how)
        }
      }
      while (open.size > 0) await settle([...open][0] as number, 'answer')
      const results = await Promise.allSettled(calls)
      for (const result of results) {
        // None is refused for another one's sake.
        if (result.status === 'rejected' && result.reason === refused) continue
        if (result.status === 'fulfilled') expect(result.value).not.toMatch(bad)
      }
      for (const places of order.values()) expect(places).toEqual([...places].sort((a, b) => a - b))
    }),
    { numRuns: runs(60) },
  )
})
