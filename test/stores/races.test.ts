import type { IdempotencyStore } from 'tix-webhooks'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { isLedger } from '../../src/ledger/store.js'
import { send } from '../../testing/store-cases/model.js'
import { assertLinearizable } from '../support/linearizable.js'
import type { OpenBackend } from '../support/our-stores.js'
import { OUR_STORES } from '../support/our-stores.js'
import { turns } from '../support/promises.js'
import { runs } from '../support/runs.js'
import { callsOf, freshKey, PAST_RETENTION, randomHistories } from '../support/store-history.js'

type PurgingStore = IdempotencyStore & { purge(options: { limit: number }): Promise<number> }

const CLIENTS = 3
const PURGED_KEYS = 300

for (const { describe, stores, share = 1, expires = false } of OUR_STORES) {
  for (const { name, open } of stores.filter(({ isTwin }) => !isTwin)) {
    describe(`${name}:`, () => {
      let backend: OpenBackend
      let clients: IdempotencyStore[]
      beforeAll(async () => {
        backend = await open()
        clients = await Promise.all(Array.from({ length: CLIENTS }, () => backend.create()))
      })
      afterAll(() => backend.close())

      test.each([
        ['', false],
        [' with late calls and lost replies', true],
      ])('random histories%s are linearizable', async (_, isLossy) => {
        const seed = Math.floor(Math.random() * 2 ** 31)
        const options = {
          count: runs(100 * share),
          isLossy,
          isLedger: clients.every(isLedger),
          seed,
        }
        for (const { calls, failures } of await randomHistories(clients, backend, options)) {
          expect(failures).toEqual([])
          assertLinearizable(calls, `seed ${seed}`)
        }
      })

      test.skipIf(expires)(
        'claims of expired keys that race purges are granted, and stay granted',
        async () => {
          const purging = clients as PurgingStore[]
          for (let round = 0; round < runs(4 * share); round++) {
            const keys = Array.from({ length: PURGED_KEYS }, freshKey)
            const sendAll = (call: ReturnType<typeof callsOf>['claim']) =>
              Promise.all(
                keys.map((key, index) =>
                  send(clients[index % CLIENTS] as IdempotencyStore, { ...call, key }),
                ),
              )
            await sendAll(callsOf('first').claim)
            await backend.advance(PAST_RETENTION)
            // The youngest first, which a purge reaches last: long after it read them as expired.
            keys.reverse()
            const claims = sendAll(callsOf('second').claim)
            const purges = purging.map((client) => purgeUntil(client, claims))
            expect(await claims).toEqual(keys.map(() => ({ status: 'claimed', attempt: 1 })))
            await Promise.all(purges)
            expect(await sendAll(callsOf('second').renew)).toEqual(keys.map(() => true))
          }
        },
      )
    })
  }
}

async function purgeUntil(client: PurgingStore, work: Promise<unknown>): Promise<void> {
  let isOver = false
  const over = () => {
    isOver = true
  }
  work.then(over, over)
  while (!isOver) {
    await client.purge({ limit: 100 })
    // A synchronous store would let nothing else run.
    await turns(1)
  }
}
