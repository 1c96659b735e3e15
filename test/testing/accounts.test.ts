import type { Handlers } from 'tix-webhooks'
import { tixWebhooks } from 'tix-webhooks/fetch'
import { callHandler, sampleEvent, signedDelivery } from 'tix-webhooks/testing'
import { createSandbox } from 'tix-webhooks-sandbox'
import { expect, onTestFinished, test } from 'vitest'

const acme = { id: 'acme', secret: 'whsec_acme', currency: 'EUR' }
const globex = { id: 'globex', secret: 'whsec_globex', currency: 'USD' }

test('accounts are tested by deliveries to their URLs, by endpoints of the sandbox, and by callHandler', async () => {
  const shops = new Map([
    ['/hooks/acme', acme],
    ['/hooks/globex', globex],
  ])
  const currencies: string[] = []
  const on = {
    'order.created': (_, { account }) => currencies.push(account.currency),
  } satisfies Handlers<Request, undefined, Record<never, never>, typeof acme>
  const account = (request: Request) => shops.get(new URL(request.url).pathname)
  const POST = tixWebhooks({ account, on, onError: () => {} })

  const delivery = await signedDelivery('order.created', { secret: acme.secret })
  const statuses = []
  for (const path of ['/hooks/acme', '/hooks/globex', '/hooks/nobody']) {
    statuses.push((await POST(delivery.toRequest(path))).status)
  }
  expect(statuses).toEqual([200, 401, 401])

  const endpoints = [...shops].map(([path, { secret }]) => ({ url: `http://localhost${path}`, secret }))
  const sandbox = createSandbox({ deliver: POST, endpoints })
  onTestFinished(() => sandbox.close())
  await sandbox.trigger('order.created')
  await callHandler(on, 'order.created', sampleEvent('order.created'), { account: globex })
  expect(currencies).toEqual(['EUR', 'EUR', 'USD', 'USD'])
})
