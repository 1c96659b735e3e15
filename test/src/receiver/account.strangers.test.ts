import { type Account, createReceiver, type DeliveryRecord } from 'tix-webhooks'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { orderCreated, sign } from '../../support/deliveries.js'

afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

const order = orderCreated({ id: 'ord_1' })

/** A receiver without onError, as most are; the request is the name in the URL. */
function byName(account: (name: string) => unknown) {
  const lines: string[] = []
  vi.spyOn(console, 'error').mockImplementation((text) => lines.push(String(text).split('\n')[0] ?? ''))
  const runs: (string | null)[] = []
  const records: DeliveryRecord[] = []
  const receiver = createReceiver({
    account: (name: string) => account(name) as Account | undefined,
    timeoutSeconds: 0.2,
    on: { 'order.created': (_event, { key }) => runs.push(key) },
    onDelivery: (record) => records.push(record),
  })
  const send = async (name: string, secret = 'whsec_a') =>
    receiver.receive({ ...(await sign(order, { secret })), request: name })
  return { send, lines, runs, records }
}

describe('a name that every object has', () => {
  const accounts: Readonly<Record<string, Account>> = { a: { id: 'a', secret: 'whsec_a' } }
  const names = [...Object.getOwnPropertyNames(Object.prototype), 'prototype', 'name', 'length']

  test('is no account in a plain object, whatever signs', async () => {
    const { send, runs } = byName((name) => accounts[name])
    for (const name of names) {
      for (const secret of ['whsec_a', `whsec_of_${name}`]) {
        const { outcome } = await send(name, secret)
        expect([name, outcome]).toEqual([name, expect.stringMatching(/^(misconfigured|unauthenticated)$/)])
      }
    }
    expect(runs).toEqual([])
  })

  test('is unknown to a Map', async () => {
    const { send } = byName((name) => new Map(Object.entries(accounts)).get(name))
    for (const name of names) expect(await send(name)).toMatchObject({ code: 'account_unknown' })
    expect(await send('a')).toEqual({ outcome: 'handled' })
  })
})

test('1,000 forged posts to accounts that nobody knows are three lines and a number, and nothing to page on', {
  tags: ['slow'],
}, async () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  const { send, lines, runs, records } = byName(() => undefined)
  for (let i = 0; i < 1000; i++) await send(`stranger_${i}`)
  expect(lines).toHaveLength(3)
  expect(new Set(records.map(({ status, outcome, code }) => `${status} ${outcome} ${code}`))).toEqual(
    new Set(['401 unauthenticated account_unknown']),
  )
  expect(records.filter(({ account, error }) => account !== undefined || error === undefined)).toEqual([])
  vi.advanceTimersByTime(60_000)
  await send('stranger')
  expect(lines.slice(3)).toEqual([
    'tix-webhooks: … and 997 more refused. (account_unknown)',
    expect.stringContaining('found no account for this request'),
  ])
  expect(runs).toEqual([])
})

test('the refusals of one account do not hide those of another', async () => {
  const { send, lines } = byName((id) => ({ id, secret: `whsec_${id}` }))
  for (let i = 0; i < 100; i++) await send('a', 'whsec_forged')
  await send('b', 'whsec_forged')
  expect(lines.map((line) => /\[(\w+)\]/.exec(line)?.[1])).toEqual(['a', 'a', 'a', 'b'])
})

test('a day of refusals does not hide those of the accounts that come after them', {
  tags: ['slow'],
}, async () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  const { send, lines } = byName((id) => ({ id, secret: 'whsec_a' }))
  for (let i = 0; i < 150; i++) await send(`account_${i}`, 'whsec_forged')
  for (let i = 0; i < 5; i++) await send('account_0', 'whsec_forged')
  lines.length = 0
  vi.advanceTimersByTime(60_000)
  for (let i = 0; i < 5; i++) await send('b', 'whsec_forged')
  await send('c', 'whsec_forged')
  expect(lines.filter((line) => /^tix-webhooks: \[[bc]\] No signature/.test(line))).toHaveLength(4)
  expect(lines).toContainEqual(expect.stringMatching(/^tix-webhooks: \[account_0\] … and 3 more refused\./))
})

test('the number of the accounts that share a counter names none of them', { tags: ['slow'] }, async () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  const { send, lines } = byName((id) => ({ id, secret: 'whsec_a' }))
  for (let i = 0; i < 150; i++) {
    for (let times = 0; times < 4; times++) await send(`account_${i}`, 'whsec_forged')
  }
  vi.advanceTimersByTime(60_000)
  lines.length = 0
  await send('late', 'whsec_forged')
  const sums = lines.filter((line) => line.includes('more refused'))
  expect(sums).toHaveLength(101)
  expect(sums).toContain('tix-webhooks: … and 197 more refused. (signature_mismatch)')
})
