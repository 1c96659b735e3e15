import { type Account, createReceiver, memoryStore, type WebhookOptions } from 'tix-webhooks'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { orderCreated, sign } from '../../support/deliveries.js'
import { honestInbox } from '../../support/honest-inbox.js'
import { throws } from '../../support/promises.js'
import { receiving } from '../../support/receiving.js'
import { jump } from '../../support/time-jumps.js'

afterEach(() => {
  vi.restoreAllMocks()
})

const ACCOUNTS: Readonly<Record<string, Account & { plan: string }>> = {
  a: { id: 'a', secret: 'whsec_account_a', plan: 'free' },
  b: { id: 'b', secret: ['whsec_new_of_b', 'whsec_account_b'], plan: 'paid' },
}

/** One endpoint for two accounts, each with its own secret; the request is the account's name. */
function byAccount(options: Partial<WebhookOptions> = {}) {
  const runs: unknown[] = []
  const { receiver, records, reports } = receiving({
    secret: undefined,
    account: ((request: unknown) => ACCOUNTS[request as string]) as never,
    on: { 'order.created': (_event, ctx) => runs.push([ctx.account, ctx.key]) },
    ...options,
  })
  const send = async (account: string, payload: object, secret = `whsec_account_${account}`) =>
    receiver.receive({ ...(await sign(payload, { secret })), request: account })
  return { send, runs, records, reports }
}

const order = orderCreated({ id: 'ord_1' })

describe('accounts', () => {
  test.each<[string, () => Partial<WebhookOptions>]>([
    ['a store', () => ({ store: memoryStore(), namespace: 'orders' })],
    ['an inbox', () => ({ inbox: honestInbox().inbox as never, namespace: 'orders' })],
    ['keys that are hashed', () => ({ namespace: 'orders', key: () => 'the same for both'.repeat(20) })],
  ])('cannot suppress the events of each other, with %s', async (_, options) => {
    const { send, runs } = byAccount(options())
    // An event signed with an account's own secret is authentic, even with the id of another account's order.
    expect(await send('a', order)).toEqual({ outcome: 'handled' })
    expect(await send('b', order)).toEqual({ outcome: 'handled' })
    expect(await send('b', order)).toEqual({ outcome: 'duplicate' })
    expect(runs).toEqual([
      [ACCOUNTS.a, expect.stringMatching(/^orders\/a\//)],
      [ACCOUNTS.b, expect.stringMatching(/^orders\/b\//)],
    ])
  })

  test('are named by the records and the reports, with the secret that matched, also if none did', async () => {
    const { send, records, reports } = byAccount({ on: { 'order.created': throws(new Error('no')) } })
    await send('b', order)
    await send('b', order, 'whsec_new_of_b')
    await send('b', order, 'whsec_forged')
    await send('stranger', order)
    expect(
      records.map(({ outcome, code, account, secretIndex }) => [outcome, code, account, secretIndex]),
    ).toEqual([
      ['failed', 'handler_failed', 'b', 1],
      ['failed', 'handler_failed', 'b', 0],
      ['unauthenticated', 'signature_mismatch', 'b', undefined],
      ['unauthenticated', 'account_unknown', undefined, undefined],
    ])
    expect(reports.map(({ ctx }) => ctx.account)).toEqual(['b', 'b', 'b', undefined])
  })

  test('are named also if their secret is invalid', async () => {
    const { send, records, reports } = byAccount({ account: (() => ({ id: 'acme', secret: '' })) as never })
    await send('a', order)
    expect([records[0]?.account, reports[0]?.ctx.account]).toEqual(['acme', 'acme'])
  })

  test.each<[string, unknown]>([
    ['undefined', undefined],
    ['null, as databases return it', null],
    ['the constructor of a plain object', {}.constructor],
    ['its __proto__', Object.prototype],
  ])('that are unknown are refused, whatever secret a stranger knows: %s', async (_, nobody) => {
    const { send, runs } = byAccount({ account: (() => nobody) as never })
    for (const secret of ['whsec_guessed', 'whsec_account_a']) {
      expect(await send('a', order, secret)).toMatchObject({
        outcome: 'unauthenticated',
        code: 'account_unknown',
      })
    }
    expect(runs).toEqual([])
  })

  test.each<[() => unknown, RegExp]>([
    [() => 'a', /returned a string: it must return \{ id, secret \}/],
    [() => ({}), /returned an account whose id is not a name, but undefined/],
    [() => ({ id: Promise.reject(new Error('unheard')), secret: 's' }), /but a promise/],
    [() => ({ id: 'a', secret: ['s', null] }), /is null: pass[^.]*settings\.$/],
    [() => ({ id: 'a', secret: 'undefined' }), /the secret of the account a is a placeholder/],
  ])('that are none make a delivery misconfigured, and nothing runs: %s', async (account, message) => {
    const unhandled = vi.fn()
    process.on('unhandledRejection', unhandled)
    const { send, runs, reports } = byAccount({ account: account as never })
    expect(await send('a', order)).toMatchObject({ outcome: 'misconfigured', code: 'misconfigured' })
    expect(reports.map(({ error }) => error.message)).toEqual([expect.stringMatching(message)])
    expect(runs).toEqual([])
    await new Promise(setImmediate)
    process.off('unhandledRejection', unhandled)
    expect(unhandled).not.toHaveBeenCalled()
  })

  test('whose look-up rejects make a delivery unavailable, with the cause', async () => {
    const { send, reports } = byAccount({ account: () => Promise.reject(new Error('down')) })
    expect(await send('a', order)).toMatchObject({ outcome: 'unavailable', code: 'account_unavailable' })
    expect(reports.map(({ error }) => (error.cause as Error).message)).toEqual(['down'])
  })
})

/** The lines that a receiver without onError prints, as most are, and forged deliveries of an account. */
function forging() {
  const lines: string[] = []
  vi.spyOn(console, 'error').mockImplementation((text) => lines.push(String(text).split('\n')[0] ?? ''))
  const on = { 'order.created': () => {} }
  const { receive } = createReceiver({ account: (id: string) => ({ id, secret: 'whsec_a' }), on })
  async function forge(account: string, times: number): Promise<void> {
    const forged = { ...(await sign(order, { secret: 'whsec_forged' })), request: account }
    for (let i = 0; i < times; i++) await receive(forged)
  }
  return { lines, forge }
}

test('a day of refusals does not hide those of accounts that come later, and the sum of accounts that share a counter names none', {
  tags: ['slow'],
}, async () => {
  const { forge, lines } = forging()
  for (let i = 0; i < 150; i++) await forge(`account_${i}`, 4)
  jump(60)
  lines.length = 0
  await forge('b', 5)
  await forge('c', 1)
  expect(lines.filter((line) => /^tix-webhooks: \[[bc]\] No signature/.test(line))).toHaveLength(4)
  const sums = lines.filter((line) => line.includes('more refused'))
  expect(sums).toHaveLength(101)
  expect(sums[0]).toMatch(/^tix-webhooks: \[account_0\] … and 1 more refused\./)
  expect(sums).toContain('tix-webhooks: … and 197 more refused. (signature_mismatch)')
})
