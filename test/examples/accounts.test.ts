/** @module-tag slow */
import { createSandbox } from 'tix-webhooks-sandbox'
import { expect, onTestFinished, test, vi } from 'vitest'
import { orderCreated, sign } from '../support/deliveries.js'
import { exampleEnvironment, schemaUrl } from '../support/examples.js'
import { portOf } from '../support/http.js'
import { onPostgres } from '../support/on-servers.js'
import { testDatabase } from '../support/postgres-database.js'
import { deliver } from '../support/raw-bytes-harness.js'

exampleEnvironment()

onPostgres('examples/accounts.ts', () => {
  const database = testDatabase()

  test('serves each account, refuses strangers at the cost of a query, and rotates a secret without a refusal', async () => {
    vi.stubEnv('DATABASE_URL', schemaUrl(database))
    const { server, pool, addSecret, dropOldSecret } = await import('../../examples/accounts.js')
    onTestFinished(async () => {
      server.close()
      await pool.end()
    })
    const port = await portOf(server)
    await database.query(
      "INSERT INTO shops VALUES ('acme', '{whsec_acme}', 'EUR'), ('globex', '{whsec_globex}', 'USD')",
    )
    const now = vi.spyOn(Date, 'now')
    /** Until what is remembered of the accounts is forgotten. */
    const forget = () => now.mockReturnValue(Date.now() + 11_000)
    const endpoints = ['acme', 'globex'].map((id) => ({
      url: `http://127.0.0.1:${port}/hooks/${id}`,
      secret: `whsec_${id}`,
    }))
    const sandbox = createSandbox({ endpoints })
    onTestFinished(() => sandbox.close())
    const [acme = ''] = sandbox.endpoints.list().map(({ id }) => id)
    const oldSecretUsed = () =>
      database.column("SELECT old_secret_used_at IS NOT NULL FROM shops WHERE id = 'acme'")

    // One order, which the service sends to both: each account has its own.
    await sandbox.trigger('order.created')
    expect(await database.query('SELECT shop, currency FROM shop_orders ORDER BY shop')).toEqual([
      { shop: 'acme', currency: 'EUR' },
      { shop: 'globex', currency: 'USD' },
    ])

    // Both secrets are known before the service switches. Until then, the old one is used.
    await addSecret('acme', 'whsec_acme_new')
    forget()
    expect(await oldSecretUsed()).toEqual([false])
    await sandbox.trigger('order.created')
    await expect.poll(oldSecretUsed).toEqual([true])
    expect(await dropOldSecret('acme')).toBe(false)

    // The service signs with both, then with the new one alone; and 72 hours pass.
    sandbox.endpoints.rotate(acme, { secret: 'whsec_acme_new' })
    await sandbox.trigger('order.created')
    sandbox.endpoints.rotate(acme, { secret: 'whsec_acme_new', keepOld: false })
    await sandbox.trigger('order.created')
    expect(await dropOldSecret('acme')).toBe(false)
    await database.query(
      "UPDATE shops SET old_secret_used_at = now() - interval '73 hours' WHERE id = 'acme'",
    )
    expect(await dropOldSecret('acme')).toBe(true)
    expect(await database.column("SELECT secret FROM shops WHERE id = 'acme'")).toEqual([['whsec_acme_new']])
    forget()
    await sandbox.trigger('order.created')
    expect(await oldSecretUsed()).toEqual([true])

    const deliveries = sandbox.deliveries.list()
    expect(deliveries.map(({ status, attempts }) => [status, attempts.length])).toEqual(
      Array(10).fill(['delivered', 1]),
    )
    expect(await database.column('SELECT count(*)::integer FROM shop_orders')).toEqual([10])
    expect(console.error).not.toHaveBeenCalled()

    // The old secret is over, and nobody else is served.
    const forged = await sign(orderCreated(), { secret: 'whsec_acme' })
    const query = vi.spyOn(pool, 'query')
    const strangers = ['nobody', 'ACME', 'constructor', '__proto__', '%00', 'x'.repeat(100), "'--"]
    for (const id of ['acme', ...strangers]) {
      for (let count = 0; count < 20; count++) {
        const { status, text } = await deliver(port, forged, { path: `/hooks/${id}` })
        expect([id, status, text]).toEqual([id, 401, '{"outcome":"unauthenticated"}'])
      }
    }
    // Those that could be ids.
    expect(query.mock.calls.map(([, values]) => values)).toEqual(
      ['nobody', 'ACME', 'constructor', '__proto__'].map((id) => [id]),
    )
    const codes = vi.mocked(console.error).mock.calls.map(([line]) => /\((\w+)\)$/.exec(line)?.[1])
    expect(codes).toEqual([...Array(3).fill('signature_mismatch'), ...Array(3).fill('account_unknown')])
  })
})
