import { expect, test } from 'vitest'
import { orderCreated } from '../../../support/deliveries.js'
import { useChildren } from '../../../support/sqlite-children.js'
import { onEachDriver } from '../../../support/sqlite-drivers.js'
import { inboxOn, insert } from '../../../support/sqlite-inbox.js'
import { valuesOf } from '../../../support/sqlite-open.js'
import { KILL_POINTS, type KillPoint } from '../../../support/sqlite-tasks.js'

const { start } = useChildren()

/** Points at which a kill comes too late to undo anything. */
const COMMITTED: readonly KillPoint[] = ['after COMMIT', 'after ctx.tx.commit']
const KILLS_EACH = 2

onEachDriver('a process that is killed', ({ open, path, driver }) => {
  test.each(KILL_POINTS)(
    '%s leaves all or nothing, and the retry makes it exactly one effect',
    async (killAt) => {
      const isCommitted = COMMITTED.includes(killAt)
      const app = await inboxOn(open(), (event, tx) => tx.commit(insert(event)))
      const orders = Array.from({ length: KILLS_EACH }, (_, i) => orderCreated({ id: `ord_${i}` }))
      const ids = orders.map(({ data }) => data.order.id)

      const killed = orders.map((payload) =>
        start({ task: 'deliver', driver, file: path(), payload, killAt }),
      )
      expect(await Promise.all(killed.map(({ ended }) => ended))).toEqual(orders.map(() => 'SIGKILL'))
      expect(app.effects()).toEqual(isCommitted ? ids : [])
      expect(app.records()).toHaveLength(isCommitted ? KILLS_EACH : 0)

      for (const answer of [isCommitted ? '200 duplicate' : '200 handled', '200 duplicate']) {
        for (const order of orders) expect(await app.send(order)).toBe(answer)
        expect(app.effects()).toEqual(ids)
      }
    },
  )

  // Its cache holds ten pages, so the others are in the file before the commit: only a journal on the disk takes them back.
  test.each(['MEMORY', 'OFF'])('in journal mode %s too, and the file is sound', async (mode) => {
    const payload = orderCreated({ id: `ord_${'x'.repeat(500)}` })
    const setup = `PRAGMA journal_mode = ${mode}; PRAGMA cache_size = 10`
    const killed = start({
      task: 'deliver',
      driver,
      file: path(),
      payload,
      killAt: 'before COMMIT',
      setup,
      times: 500,
    })
    expect(await killed.ended).toBe('SIGKILL')
    const db = open()
    const app = await inboxOn(db, (event, tx) => tx.commit(insert(event)))
    expect(valuesOf(db, 'PRAGMA integrity_check')).toEqual(['ok'])
    expect([app.effects(), app.records()]).toEqual([[], []])
    expect(await app.send(payload)).toBe('200 handled')
    expect(app.effects()).toEqual([payload.data.order.id])
  })
})
