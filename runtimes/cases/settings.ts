import assert from 'node:assert/strict'
import { SECRETS } from '../app/contract.js'
import type { Case } from './case.js'
import { assertAnswer, order, runsOf } from './client.js'

/** Options that ask something of the runtime. */
export const settingCases: readonly Case[] = [
  {
    name: 'a rotation: either secret',
    async run(client) {
      for (const [index, secret] of SECRETS.entries()) {
        const { id, delivery } = await order('do', { secret })
        assertAnswer(await client.send('rotated', delivery), 200, 'handled')
        assert.deepEqual(
          (await runsOf(client, id)).map(({ secretIndex }) => secretIndex),
          [index],
        )
      }
      assertAnswer(await client.send('rotated', (await order()).delivery), 401, 'unauthenticated')
    },
  },
  {
    name: 'a secret function',
    async run(client) {
      assertAnswer(await client.send('secret-function', (await order()).delivery), 200, 'handled')
      const forged = await order('do', { secret: 'whsec_other' })
      assertAnswer(await client.send('secret-function', forged.delivery), 401, 'unauthenticated')
    },
  },
  {
    name: 'a secret function without a secret: 500',
    async run(client) {
      assertAnswer(await client.send('without-secret', (await order()).delivery), 500, 'misconfigured')
    },
  },
  {
    name: 'an inbox: the rows of a handler that succeeds, once',
    async run(client) {
      const { id, delivery } = await order()
      assertAnswer(await client.send('inbox', delivery), 200, 'handled')
      assertAnswer(await client.send('inbox', delivery), 200, 'duplicate')
      const discarded = await order('discard')
      assertAnswer(await client.send('inbox', discarded.delivery), 200, 'discarded')
      const failed = await order('fail')
      assertAnswer(await client.send('inbox', failed.delivery), 500, 'failed')
      assertAnswer(await client.send('inbox', failed.delivery), 200, 'handled')
      const ours = [id, discarded.id, failed.id]
      const { rows } = await client.log()
      assert.deepEqual(
        rows.filter((row) => ours.includes(row)),
        [id, failed.id],
      )
    },
  },
]
