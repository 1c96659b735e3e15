import { readFileSync } from 'node:fs'
import type { Miniflare } from 'miniflare'
import ts from 'typescript'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { orderCreated, SECRET, sign } from '../support/deliveries.js'
import { ROOT } from '../support/root.js'
import { bundledWorker, workerd } from '../support/workerd.js'

/** The Worker of examples/, with the bindings of the configuration beside it. */
let runtime: Miniflare

beforeAll(async () => {
  const { config } = ts.parseConfigFileTextToJson(
    'wrangler.jsonc',
    readFileSync(`${ROOT}examples/wrangler.jsonc`, 'utf8'),
  )
  runtime = workerd([
    {
      name: config.name,
      modules: true,
      script: await bundledWorker('examples/worker.ts'),
      compatibilityDate: config.compatibility_date,
      d1Databases: config.d1_databases.map(({ binding }: { binding: string }) => binding),
      bindings: { TIX_SIGNING_SECRET: SECRET },
    },
  ])
}, 30_000)
afterAll(() => runtime?.dispose())

async function send(payload: object, { path = '/hooks', tampered = '' } = {}) {
  const { header, body } = await sign(payload)
  const response = await runtime.dispatchFetch(`http://worker${path}`, {
    method: 'POST',
    headers: { 'x-service-signature': header },
    body: new TextDecoder().decode(body) + tampered,
  })
  return [response.status, await response.text()]
}

test('examples/worker.ts handles an order once, in workerd with D1, after its cron trigger has created the table', async () => {
  const order = orderCreated()
  expect(await send(order)).toEqual([503, '{"outcome":"unavailable"}'])
  const worker = await runtime.getWorker()
  await (worker as unknown as { scheduled(): Promise<unknown> }).scheduled()
  expect(await send(order)).toEqual([200, '{"outcome":"handled"}'])
  expect(await send(order)).toEqual([200, '{"outcome":"duplicate"}'])
  expect(await send(order, { tampered: ' ' })).toEqual([401, '{"outcome":"unauthenticated"}'])
  expect(await send({}, { path: '/elsewhere' })).toEqual([404, 'Not found'])
})
