import assert from 'node:assert/strict'
import { attacks, signedBody, signedDelivery } from 'tix-webhooks/testing'
import { SECRET } from '../app/contract.js'
import type { Case } from './case.js'
import { assertAnswer, order, runsOf } from './client.js'

/** The answer to each kind of delivery. */
export const answerCases: readonly Case[] = [
  {
    name: 'handled, then duplicate',
    async run(client) {
      const { id, delivery } = await order()
      assertAnswer(await client.send('main', delivery), 200, 'handled')
      assertAnswer(await client.send('main', await delivery.signAgain()), 200, 'duplicate')
      assert.equal((await runsOf(client, id)).length, 1)
    },
  },
  {
    name: 'each of the attacks',
    async run(client) {
      for (const { name, deliver, expect } of await attacks('order.created', { secret: SECRET })) {
        const answers = await deliver((delivery) => client.send('main', delivery))
        for (const { status } of answers) assert.ok(expect.statuses.includes(status), `${name}: ${status}`)
      }
    },
  },
  {
    name: 'no signature: 400',
    async run(client) {
      const { body } = (await order()).delivery
      assertAnswer(await client.send('main', { headers: {}, body }), 400, 'malformed')
    },
  },
  {
    name: 'a wrong signature: 401',
    async run(client) {
      const { id, delivery } = await order('do', { secret: 'whsec_other' })
      assertAnswer(await client.send('main', delivery), 401, 'unauthenticated')
      assert.deepEqual(await runsOf(client, id), [])
    },
  },
  {
    name: 'a stale signature: 401',
    async run(client) {
      const { delivery } = await order('do', { timestamp: Math.floor(Date.now() / 1_000) - 400 })
      assertAnswer(await client.send('main', delivery), 401, 'unauthenticated')
    },
  },
  {
    name: 'signed, but invalid UTF-8: 500',
    async run(client) {
      const { body } = (await order()).delivery
      const broken = Buffer.concat([Buffer.from(body.slice(0, -1)), Buffer.from([0x22, 0xff, 0xfe])])
      const { headers } = await signedBody(new Uint8Array(broken), { secret: SECRET })
      assertAnswer(await client.send('main', { headers, body: broken }), 500, 'unprocessable')
    },
  },
  {
    name: 'RetryLater: 503 with Retry-After',
    async run(client) {
      const answer = await client.send('main', (await order('later-7')).delivery)
      assertAnswer(answer, 503, 'retry_later')
      assert.equal(answer.headers['retry-after'], '7')
    },
  },
  {
    name: 'Discard: 200, then duplicate',
    async run(client) {
      const { id, delivery } = await order('discard')
      assertAnswer(await client.send('main', delivery), 200, 'discarded')
      assertAnswer(await client.send('main', delivery), 200, 'duplicate')
      assert.equal((await runsOf(client, id)).length, 1)
    },
  },
  {
    name: 'a handler that throws: 500, and the retry runs',
    async run(client) {
      const { id, delivery } = await order('fail')
      assertAnswer(await client.send('main', delivery), 500, 'failed')
      assertAnswer(await client.send('main', delivery), 200, 'handled')
      assert.deepEqual(
        (await runsOf(client, id)).map(({ attempt }) => attempt),
        [1, 2],
      )
    },
  },
  {
    name: 'a kind without a handler: 200 unhandled',
    async run(client) {
      const delivery = await signedDelivery('event.published', { secret: SECRET, data: {} })
      assertAnswer(await client.send('main', delivery), 200, 'unhandled')
    },
  },
  {
    name: 'GET: no 2xx',
    async run(client) {
      const { status } = await client.send('main', { method: 'GET', headers: {} })
      assert.ok(status === 404 || status === 405, String(status))
    },
  },
]
