import { defineCase, type InboxCase } from './inbox-case.js'

/** The optional members of an inbox. */
export const memberCases: readonly InboxCase[] = [
  defineCase(
    'check',
    'MUST resolve check() while the database can be used, if it has one.',
    async (runner, { inbox }) => {
      try {
        await inbox.check?.()
      } catch (error) {
        runner.fail(`check() was rejected: ${String(error)}`)
      }
    },
  ),

  defineCase('connections', 'MUST report the size of its pool, if it reports one.', async (runner) => {
    for (const connections of [1, 3]) {
      const { inbox } = await runner.open(connections)
      const max = inbox.connections?.max
      if (inbox.connections === undefined || max === connections) continue
      runner.fail(
        `expected connections.max to be ${connections}, as create() was asked for, but it is ${String(max)}`,
      )
    }
  }),
]
