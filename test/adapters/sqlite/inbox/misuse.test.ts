import { expect, test } from 'vitest'
import { orderCreated } from '../../../support/deliveries.js'
import { deferred, turns } from '../../../support/promises.js'
import { onEachDriver } from '../../../support/sqlite-drivers.js'
import { inboxOn, insert, type Tx } from '../../../support/sqlite-inbox.js'
import type { TestDatabase } from '../../../support/sqlite-open.js'

/** Returns the error that a call throws. */
function thrownBy(call: () => unknown): unknown {
  try {
    call()
  } catch (error) {
    return error
  }
  return expect.fail('It threw nothing.')
}

/** A call without types, as from plain JavaScript. */
const commitUntyped = (tx: Tx, effects: unknown): void => tx.commit(effects as () => void)

onEachDriver('ctx.tx.commit', ({ open }) => {
  test('that is called twice throws a TypeError, and the effects of the first are kept once', async () => {
    const thrown: unknown[] = []
    const app = await inboxOn(open(), (event, tx) => {
      tx.commit(insert(event))
      thrown.push(thrownBy(() => tx.commit(insert(event))))
    })
    const order = orderCreated({ id: 'ord_a' })
    expect(await app.send(order)).toBe('200 handled')
    expect(thrown).toEqual([expect.any(TypeError)])
    expect(String(thrown[0])).toMatch(/ctx\.tx\.commit was called twice: put all effects into one call/)
    expect(app.effects()).toEqual(['ord_a'])
  })

  test.each([
    [
      'an async function',
      (event: Parameters<typeof insert>[0]) => async (db: TestDatabase) => insert(event)(db),
    ],
    [
      'a function that returns a thenable',
      (event: Parameters<typeof insert>[0]) => (db: TestDatabase) => {
        insert(event)(db)
        // biome-ignore lint/suspicious/noThenProperty: query builders have one
        return { then: () => {} }
      },
    ],
  ])('of %s throws a TypeError and rolls back, and the retry may do it right', async (_, wrong) => {
    let isFixed = false
    const thrown: unknown[] = []
    const app = await inboxOn(open(), (event, tx) => {
      if (isFixed) return tx.commit(insert(event))
      const error = thrownBy(() => commitUntyped(tx, wrong(event)))
      thrown.push(error)
      throw error
    })
    const order = orderCreated({ id: 'ord_a' })
    expect(await app.send(order)).toBe('500 failed')
    expect(thrown).toEqual([expect.any(TypeError)])
    expect(String(thrown[0])).toMatch(/must be synchronous, and it returned a promise: await before the call/)
    expect([app.effects(), app.records()]).toEqual([[], []])
    isFixed = true
    expect(await app.send(order)).toBe('200 handled')
    expect(app.effects()).toEqual(['ord_a'])
  })

  test('of an async function that fails leaves no rejection unhandled', async () => {
    const unhandled: unknown[] = []
    const note = (reason: unknown) => void unhandled.push(reason)
    process.on('unhandledRejection', note)
    try {
      const app = await inboxOn(open(), (_, tx) =>
        commitUntyped(tx, async () => {
          throw new Error('no ink')
        }),
      )
      expect(await app.send(orderCreated())).toBe('500 failed')
      await turns(3)
      expect(unhandled).toEqual([])
    } finally {
      process.off('unhandledRejection', note)
    }
  })

  test('within its own effects throws, and nothing of either is kept', async () => {
    const app = await inboxOn(open(), (event, tx) =>
      tx.commit((db) => {
        insert(event)(db)
        tx.commit(insert(event))
      }),
    )
    expect(await app.send(orderCreated())).toMatch(/^50[03]/)
    expect([app.effects(), app.records()]).toEqual([[], []])
  })

  test.each([
    ['was handled', '200 handled', async () => {}],
    ['failed', '500 failed', async () => Promise.reject(new Error('no ink'))],
  ])('that leaks and is called after the event %s throws, and does nothing', async (_, answer, end) => {
    const leaked = deferred<Tx>()
    const app = await inboxOn(open(), (_, tx) => {
      leaked.resolve(tx)
      return end()
    })
    expect(await app.send(orderCreated({ id: 'ord_a' }))).toBe(answer)
    const tx = await leaked.promise
    const error = thrownBy(() => tx.commit((db) => db.exec("INSERT INTO effects VALUES ('late')")))
    expect(error).toBeInstanceOf(TypeError)
    expect(String(error)).toMatch(/after the run had ended/)
    expect(app.effects()).toEqual([])
    expect(app.records()).toHaveLength(answer === '200 handled' ? 1 : 0)
  })
})
