import { expect, test } from 'vitest'
import { orderCreated } from '../../../support/deliveries.js'
import { useChildren } from '../../../support/sqlite-children.js'
import { onEachDriver } from '../../../support/sqlite-drivers.js'
import { inboxOn, insert } from '../../../support/sqlite-inbox.js'
import { KILL_POINTS, type KillPoint } from '../../../support/sqlite-tasks.js'

const { start } = useChildren()

/** The points of a delivery, with whether a kill there comes too late to undo its commit. */
const POINTS: [end: 'succeeds' | 'fails', killAt: KillPoint, isCommitted: boolean][] = [
  ...KILL_POINTS.map((point): [end: 'succeeds', killAt: KillPoint, isCommitted: boolean] => [
    'succeeds',
    point,
    point === 'after COMMIT' || point === 'after ctx.tx.commit',
  ]),
  ['fails', 'in the handler', false],
  ['fails', 'before COMMIT', false],
  ['fails', 'after COMMIT', true],
]

onEachDriver('a process of two on one file, which keep failures', ({ open, path, driver }) => {
  test.each(POINTS)(
    'that is killed while a delivery %s, %s: a failure until it is handled, and none then',
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
      const attempts = (await app.failures.list({ order: 'oldest' })).map((kept) => [
        kept.orderId,
        kept.attempts,
      ])
      const kept = end === 'fails' && isCommitted ? { ord_again: 2, ord_new: 1 } : { ord_again: 1 }
      expect(Object.fromEntries(attempts)).toEqual(isHandled ? {} : kept)
      if (!isHandled && !isCommitted) expect(await app.failures.list()).toEqual([before])

      isFixed = true
      for (const order of [again, anew]) {
        expect(await app.send(order)).toBe(isHandled ? '200 duplicate' : '200 handled')
      }
      expect(app.effects()).toEqual(['ord_again', 'ord_new'])
      expect(await app.failures.list()).toEqual([])
    },
  )
})
