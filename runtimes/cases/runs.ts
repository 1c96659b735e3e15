import assert from 'node:assert/strict'
import type { Case } from './case.js'
import { assertAnswer, eventually, order, runsOf } from './client.js'

/** An event runs once, however long it takes. */
export const runCases: readonly Case[] = [
  {
    name: 'a burst of five: one run',
    async run(client) {
      const { id, delivery } = await order('wait-300')
      const answers = await Promise.all(Array.from({ length: 5 }, () => client.send('main', delivery)))
      const statuses = answers.map(({ status, outcome }) => `${status} ${outcome}`)
      assert.equal(statuses.filter((one) => one === '200 handled').length, 1, statuses.join())
      const rest = statuses.filter((one) => one !== '200 handled')
      assert.ok(
        rest.every((one) => one === '503 in_flight' || one === '200 duplicate'),
        statuses.join(),
      )
      assert.equal((await runsOf(client, id)).length, 1)
    },
  },
  {
    name: 'a handler past the deadline: 503',
    async run(client) {
      const answer = await client.send('hasty', (await order('wait-2500')).delivery)
      assertAnswer(answer, 503, 'timed_out')
      assert.equal(answer.headers['retry-after'], '5')
    },
  },
  {
    name: 'it goes on, and its retry is a duplicate',
    unless: 'stopsWithAnswer',
    async run(client) {
      const { id, delivery } = await order('wait-2500')
      assertAnswer(await client.send('hasty', delivery), 503, 'timed_out')
      assertAnswer(await client.send('hasty', delivery), 503, 'in_flight')
      await eventually('the late completion', async () => {
        const { outcome } = await client.send('hasty', await delivery.signAgain())
        return outcome === 'duplicate'
      })
      assert.equal((await runsOf(client, id)).length, 1)
    },
  },
  {
    name: 'a handler past maxRunSeconds is aborted',
    unless: 'stopsWithAnswer',
    async run(client) {
      const { id, delivery } = await order('abort')
      assertAnswer(await client.send('given-up', delivery), 503, 'timed_out')
      await eventually('the abort', async () => (await runsOf(client, id))[0]?.aborted)
    },
  },
  {
    name: 'each delivery leaves one record',
    async run(client) {
      const { id, delivery } = await order('fail')
      for (const signed of [delivery, delivery, delivery]) await client.send('main', signed)
      const { records } = await client.log()
      const own = records.filter(({ key }) => key?.endsWith(id.slice(id.indexOf(':') + 1)))
      assert.deepEqual(
        own.map(({ outcome, code }) => `${outcome} ${code}`),
        ['failed handler_failed', 'handled undefined', 'duplicate undefined'],
      )
    },
  },
]
