import assert from 'node:assert/strict'
import type { Case } from './case.js'
import { assertAnswer, eventually, order } from './client.js'

const LOAD = 40

/** A shutdown loses nothing. */
export const drainCases: readonly Case[] = [
  {
    name: 'drain: 503 from then on',
    async run(client) {
      assertAnswer(await client.send('drained', (await order()).delivery), 200, 'handled')
      await client.drain('drained')
      const answer = await client.send('drained', (await order()).delivery)
      assertAnswer(answer, 503, 'unavailable')
      assert.match(answer.headers['retry-after'] ?? '', /^([5-9]|1[0-5])$/)
    },
  },
  {
    name: 'drain under load: what runs is answered 200',
    async run(client) {
      const orders = await Promise.all(Array.from({ length: LOAD }, () => order('wait-400')))
      const early = orders.slice(0, LOAD / 2).map(({ delivery }) => client.send('loaded', delivery))
      await eventually('a run', async () =>
        (await client.log()).runs.some(({ endpoint }) => endpoint === 'loaded'),
      )
      const draining = client.drain('loaded')
      const late = orders.slice(LOAD / 2).map(({ delivery }) => client.send('loaded', delivery))
      await draining
      const { runs } = await client.log()
      assert.ok(runs.filter(({ endpoint }) => endpoint === 'loaded').every(({ ended }) => ended))
      const answers = await Promise.all([...early, ...late])
      for (const [index, { status, outcome }] of answers.entries()) {
        const count = runs.filter(({ id }) => id === orders[index]?.id).length
        assert.equal(`${status} ${outcome}`, count === 1 ? '200 handled' : '503 unavailable')
      }
    },
  },
]
