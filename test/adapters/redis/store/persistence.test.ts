import { expect, onTestFinished, test, vi } from 'vitest'
import { onOwnRedis } from '../../../support/on-servers.js'
import {
  claimOf,
  connectIoredis,
  HOUR_MS,
  ioredisLibrary,
  openStore,
} from '../../../support/redis-clients.js'
import { startRedis } from '../../../support/redis-server.js'

onOwnRedis('a Redis whose process is killed', () => {
  test.each([
    { persistence: 'none', args: [], keeps: [] },
    { persistence: 'snapshots alone', args: ['--save', '3600 1'], keeps: ['before'] },
    {
      persistence: 'a log that is synced every second',
      args: ['--appendonly', 'yes', '--appendfsync', 'everysec'],
      keeps: ['before', 'since'],
    },
  ])('remembers with $persistence: $keeps', async ({ args, keeps }) => {
    const server = await startRedis({ args })
    onTestFinished(() => server.stop())
    const admin = await connectIoredis(server.url)
    const store = await openStore(ioredisLibrary, server.url)
    for (const key of ['before', 'since']) {
      await store.claim(claimOf(key, 'a'))
      await store.complete({ key, token: 'a' }, HOUR_MS)
      if (key === 'before' && args.includes('--save')) await admin.save()
    }
    // A log that is just being synced is written to a moment later.
    await vi.waitFor(async () =>
      expect(await admin.info('persistence')).not.toMatch(/aof_buffer_length:[1-9]/),
    )

    await server.kill('SIGKILL')
    await server.restart()
    const claims = await Promise.all(['before', 'since'].map((key) => store.claim(claimOf(key, 'b'))))
    const kept = ['before', 'since'].filter((_key, i) => claims[i]?.status === 'completed')
    expect(kept).toEqual(keeps)
  })
})
