import type { Redis } from 'ioredis'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { onOwnRedis } from '../../support/on-servers.js'
import {
  CALLS,
  callsOf,
  claimOf,
  connectIoredis,
  HOUR_MS,
  LIBRARIES,
  openStore,
} from '../../support/redis-clients.js'
import { type RedisServer, startRedis } from '../../support/redis-server.js'

onOwnRedis('scripts that the server does not have', () => {
  let server: RedisServer
  let admin: Redis

  beforeAll(async () => {
    server = await startRedis({ args: ['--appendonly', 'yes', '--appendfsync', 'always'] })
  })
  afterAll(() => server.stop())

  beforeEach(async () => {
    admin = await connectIoredis(server.url)
    await admin.script('FLUSH')
    await admin.flushall()
    await admin.config('RESETSTAT')
  })

  test.each(CALLS)('on $with: $name sends its own once, and answers as ever', async ({ library, method }) => {
    const store = await openStore(library, server.url)
    for (const key of ['k1', 'k2']) {
      if (method.name !== 'claim') await store.claim(claimOf(key, 'a'))
    }
    await admin.script('FLUSH')
    const before = await callsOf(admin, 'eval')
    expect(await method.call(store, 'k1', 'a')).toEqual(method.answer)
    expect(await callsOf(admin, 'eval')).toBe(before + 1)
    expect(await method.call(store, 'k2', 'a')).toEqual(method.answer)
    expect(await callsOf(admin, 'eval')).toBe(before + 1)
  })

  test.each(LIBRARIES)('on $name: many first calls at once each get their own answer', async (library) => {
    const store = await openStore(library, server.url)
    const claims = Array.from({ length: 30 }, (_, i) => store.claim(claimOf('k', `token ${i}`)))
    const answers = await Promise.all(claims)
    expect(answers.filter(({ status }) => status === 'claimed')).toEqual([{ status: 'claimed', attempt: 1 }])
    expect(answers.filter(({ status }) => status === 'in_flight')).toHaveLength(29)
  })

  test.each(LIBRARIES)(
    'on $name: a restart between claim and completion changes nothing',
    async (library) => {
      const store = await openStore(library, server.url)
      await store.claim(claimOf('k', 'a'))
      await server.restart()
      // A command sent while the client reconnects waits in its queue.
      expect(await store.complete({ key: 'k', token: 'a' }, HOUR_MS)).toBe(true)
      expect(await store.claim(claimOf('k', 'b'))).toEqual({ status: 'completed' })
      expect(await store.claim(claimOf('new', 'b'))).toEqual({ status: 'claimed', attempt: 1 })
    },
  )
})
