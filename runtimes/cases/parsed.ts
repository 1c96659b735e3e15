import assert from 'node:assert/strict'
import { assertAnswer, type Client, order } from './client.js'

/** Checks the report of a NestJS controller whose body was parsed already: the way to mount it in NestJS comes first. */
export async function runParsedInNest(client: Client): Promise<void> {
  const { delivery } = await order()
  assertAnswer(await client.send('', delivery), 500, 'misconfigured')
  const { reports } = await client.log()
  assert.equal(reports.length, 1, reports.join('\n'))
  assert.match(
    reports[0] ?? '',
    /\. In NestJS call app\.use\("\/hooks", .+ before app\.listen\(\), or pass \{ rawBody: true \}/,
  )
}

/** Checks the same controller in an app that keeps the raw body. */
export async function runRawBodyInNest(client: Client): Promise<void> {
  const { delivery } = await order()
  assertAnswer(await client.send('', delivery), 200, 'handled')
  assertAnswer(await client.send('', delivery), 200, 'duplicate')
  const changed = { ...delivery, body: `${delivery.body} ` }
  assertAnswer(await client.send('', changed), 401, 'unauthenticated')
}
