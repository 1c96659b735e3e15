import { sqliteStore } from 'tix-webhooks/sqlite'
import { expect, test } from 'vitest'
import { raceChildren, useChildren } from '../../support/sqlite-children.js'
import { onEachDriver } from '../../support/sqlite-drivers.js'

const { start } = useChildren()

onEachDriver('a file', ({ open, path, driver }) => {
  test('grants each of 300 keys once to four processes that race, and none meets a lock', async () => {
    await sqliteStore(open()).migrate()
    const keys = Array.from({ length: 300 }, (_, i) => `key-${i}`)
    let children = 0
    const replies = await raceChildren(() => {
      children += 1
      // Two go up and two go down, so that they meet.
      const theirs = children % 2 === 0 ? keys : [...keys].reverse()
      return start({ task: 'claim', driver, file: path(), token: `process-${children}`, keys: theirs })
    }, 4)
    expect(replies.map(({ error }) => error)).toEqual([undefined, undefined, undefined, undefined])
    const claimed = replies.flatMap((reply) => reply.claimed ?? [])
    expect(claimed).toHaveLength(300)
    expect(new Set(claimed)).toEqual(new Set(keys))
  })
})
