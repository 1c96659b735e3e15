import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { redisStore } from 'tix-webhooks/redis'
import { expect, onTestFinished, test } from 'vitest'
import { onRedis, redisPrefix, redisUrl } from '../../../support/on-servers.js'
import { turns } from '../../../support/promises.js'
import { CALLS, claimOf, LIBRARIES, METHODS } from '../../../support/redis-clients.js'
import { ROOT } from '../../../support/root.js'
import { startProxy, type TcpProxy } from '../../../support/tcp-proxy.js'

const run = promisify(execFile)

async function proxied(): Promise<{ proxy: TcpProxy; url: string }> {
  const url = new URL(redisUrl())
  const proxy = await startProxy({ host: url.hostname, port: Number(url.port || 6379) })
  onTestFinished(() => proxy.close())
  url.host = `127.0.0.1:${proxy.port}`
  return { proxy, url: url.href }
}

onRedis('the traffic of a Redis store', () => {
  test.each(LIBRARIES)('on $name: nothing is sent when it is made', async (library) => {
    const { proxy, url } = await proxied()
    const client = await library.connect(url)
    await turns(5)
    const before = proxy.bytes.fromClient
    redisStore(client, { prefix: redisPrefix('silent') })
    await turns(5)
    expect(proxy.bytes.fromClient).toBe(before)
    expect(proxy.connections).toBe(1)
  })

  test.each(CALLS)('on $with: $name takes one round trip', async ({ library, method }) => {
    const { proxy, url } = await proxied()
    const store = redisStore(await library.connect(url), { prefix: redisPrefix(`trips-${library.name}`) })
    // The policy is read once, and the scripts are sent whole once.
    for (const { call } of METHODS) await call(store, `warm-${method.name}`, 'a')
    if (method.name !== 'claim') await store.claim(claimOf(method.name, 'a'))
    const before = proxy.roundTrips
    expect(await method.call(store, method.name, 'a')).toEqual(method.answer)
    expect(proxy.roundTrips - before).toBe(1)
  })

  test.each(LIBRARIES)('on $name: calls that are made together share a round trip', async (library) => {
    const { proxy, url } = await proxied()
    const store = redisStore(await library.connect(url), { prefix: redisPrefix(`many-${library.name}`) })
    await store.claim(claimOf('warm', 'a'))
    const before = proxy.roundTrips
    const claims = Array.from({ length: 20 }, (_, i) => store.claim(claimOf(`k${i}`, 'a')))
    expect(new Set((await Promise.all(claims)).map(({ status }) => status))).toEqual(new Set(['claimed']))
    expect(proxy.roundTrips - before).toBeLessThan(20)
  })
})

onRedis('a process with a Redis store', () => {
  test('ends when its clients are closed, whatever the store did', async () => {
    const script = `
      import { Redis } from 'ioredis'
      import { createClient } from 'redis'
      import { redisStore } from 'tix-webhooks/redis'
      const [url, prefix] = process.argv.slice(-2)
      const one = new Redis(url)
      const two = await createClient({ url }).connect()
      const claim = { key: 'k', token: 'a', leaseMs: 600_000, retainMs: 600_000 }
      for (const client of [one, two]) console.log((await redisStore(client, { prefix }).claim(claim)).status)
      redisStore(createClient({ url }))
      redisStore(new Redis(url, { lazyConnect: true }))
      await one.quit()
      await two.close()`
    const tsx = join(ROOT, 'node_modules/.bin/tsx')
    const args = ['--input-type=module', '-e', script, redisUrl(), redisPrefix('process')]
    const { stdout } = await run(tsx, args, { cwd: ROOT, timeout: 18_000 })
    expect(stdout).toBe('claimed\nclaimed\n')
  })
})
