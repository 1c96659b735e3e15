import assert from 'node:assert/strict'
import { assertAnswer, type Client, order } from './client.js'

/** That a route of a NestJS controller, whose body was parsed before, says how to mount it in NestJS, and first. */
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

/** That the same route works where Nest keeps the bytes. */
export async function runRawBodyInNest(client: Client): Promise<void> {
  const { delivery } = await order()
  assertAnswer(await client.send('', delivery), 200, 'handled')
  assertAnswer(await client.send('', delivery), 200, 'duplicate')
  const changed = { ...delivery, body: `${delivery.body} ` }
  assertAnswer(await client.send('', changed), 401, 'unauthenticated')
}
