import { expect, test } from 'vitest'
import { orderCreated } from '../../../support/deliveries.js'
import { KILL_POINTS, type KillPoint, useChildren } from '../../../support/sqlite-children.js'
import { onEachDriver } from '../../../support/sqlite-drivers.js'
import { inboxOn, insert } from '../../../support/sqlite-inbox.js'
import { valuesOf } from '../../../support/sqlite-open.js'

const { start } = useChildren()

/** The points of a delivery, with whether a kill there comes too late to undo its commit. */
const POINTS: [end: 'succeeds' | 'fails', killAt: KillPoint, isCommitted: boolean][] = [
  ...KILL_POINTS.map((point): (typeof POINTS)[number] => [
    'succeeds',
    point,
    point === 'after COMMIT' || point === 'after ctx.tx.commit',
  ]),
  ['fails', 'in the handler', false],
  ['fails', 'before COMMIT', false],
  ['fails', 'after COMMIT', true],
]

onEachDriver('a process that is killed', ({ open, path, driver }) => {
  test.each(POINTS)(
    'while a delivery %s, %s, leaves all or nothing, a failure until the event is handled, and none then',
    async (end, killAt, isCommitted) => {
      let isFixed = false
      const app = await inboxOn(
        open(),
        (event, tx) => {
          if (!isFixed) throw new Error('no ink')
          tx.commit(insert(event))
        },
        { keepsFailures: true },
      )
      // One event that has failed before, and one that has not.
      const [again, anew] = [orderCreated({ id: 'ord_again' }), orderCreated({ id: 'ord_new' })]
      expect(await app.send(again)).toBe('500 failed')
      const before = (await app.failures.list())[0]

      const children = [again, anew].map((payload) =>
        start({ task: 'deliver', driver, file: path(), payload, killAt, failures: end }),
      )
      expect(await Promise.all(children.map(({ ended }) => ended))).toEqual(['SIGKILL', 'SIGKILL'])

      const isHandled = end === 'succeeds' && isCommitted
      const handled = isHandled ? ['ord_again', 'ord_new'] : []
      expect(app.effects()).toEqual(handled)
      expect(app.records()).toEqual(handled.map((id) => `inbox/order.created/${id}`))
      const failures = await app.failures.list()
      const kept = end === 'fails' && isCommitted ? { ord_again: 2, ord_new: 1 } : { ord_again: 1 }
      expect(Object.fromEntries(failures.map(({ orderId, attempts }) => [orderId, attempts]))).toEqual(
        isHandled ? {} : kept,
      )
      if (!isHandled && !isCommitted) expect(failures).toEqual([before])

      isFixed = true
      for (const answer of [isHandled ? '200 duplicate' : '200 handled', '200 duplicate']) {
        for (const order of [again, anew]) expect(await app.send(order)).toBe(answer)
        expect(app.effects()).toEqual(['ord_again', 'ord_new'])
      }
      expect(await app.failures.list()).toEqual([])
    },
  )

  // Its cache holds ten pages, so the others are in the file before the commit: only a journal on the disk takes them back.
  test.each(['MEMORY', 'OFF'])('in journal mode %s leaves nothing, and a sound file', async (mode) => {
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
