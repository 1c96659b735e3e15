import { redisStore } from 'tix-webhooks/redis'
import type { StoreHarness } from 'tix-webhooks/testing'
import { SHIFT_REDIS } from '../../../test/support/shift-deadlines.js'

/** The cases of a store under a prefix of its own, with two stores over one client, made when it is first used. */
export function redisHarness<Client extends Parameters<typeof redisStore>[0]>(
  open: () => Client,
  run: (client: Client, script: string, args: [prefix: string, ms: string]) => Promise<unknown>,
): StoreHarness {
  let opened: { client: Client; prefix: string } | undefined

  function parts() {
    opened ??= { client: open(), prefix: `lane:${crypto.randomUUID()}:` }
    return opened
  }

  async function create() {
    const { client, prefix } = parts()
    return redisStore(client, { prefix })
  }

  return {
    create,
    createSecond: create,
    async advance(ms) {
      const { client, prefix } = parts()
      await run(client, SHIFT_REDIS, [prefix, `${ms}`])
    },
  }
}
