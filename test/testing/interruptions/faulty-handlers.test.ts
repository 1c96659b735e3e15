/** @module-tag slow */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { memoryStore } from 'tix-webhooks'
import { tixWebhooks } from 'tix-webhooks/fetch'
import { tixWebhooks as listener } from 'tix-webhooks/node'
import {
  type InterruptionOptions,
  interruptions,
  type SignedDelivery,
  signedDelivery,
} from 'tix-webhooks/testing'
import { describe, expect, test } from 'vitest'

const secret = 'whsec_test'
const delivery = await signedDelivery('order.created', { secret })
const aTurn = () => new Promise((resolve) => setImmediate(resolve))

/** As in an app: reached by a getter, with private fields. A mail is sent once, however often, so that only a lost one is wrong. */
class Mailer {
  #sent = new Set<string>()
  #wait: () => unknown
  constructor(wait: () => unknown) {
    this.#wait = wait
  }
  get count() {
    return this.#sent.size
  }
  async send(to: string) {
    await this.#wait()
    this.#sent.add(to)
  }
  sendNow(to: string) {
    this.#sent.add(to)
  }
}

const makeWorld = (wait: () => unknown = aTurn) => {
  const mailer = new Mailer(wait)
  const rows: string[] = []
  return {
    get mailer() {
      return mailer
    },
    rows,
    db: {
      async insert(row: string) {
        await aTurn()
        rows.push(row)
      },
    },
    store: undefined as ReturnType<typeof memoryStore> | undefined,
  }
}
type World = ReturnType<typeof makeWorld>
type Platform = { waitUntil(work: Promise<unknown>): void }

/** What `start` does with the world. */
interface Faulty {
  readonly wait?: () => unknown
  handle?(world: World, platform: Platform): unknown
  onDelivery?(world: World): unknown
}

/** A process with the default store, or one with the store of the world. */
const startOf =
  ({ handle, onDelivery }: Faulty, timeoutSeconds = 10): InterruptionOptions<World>['start'] =>
  (world, { now }) => {
    const hooks = tixWebhooks({
      secret,
      now,
      timeoutSeconds,
      ...(world.store !== undefined && { store: world.store, namespace: 'orders' }),
      on: { 'order.created': async (_, ctx) => void (await handle?.(world, ctx.platform as Platform)) },
      onDelivery: () => void onDelivery?.(world),
      onError: () => {},
    })
    return (request) => hooks(request, { waitUntil: () => {} })
  }

const send = ({ mailer }: World) => mailer.send('a')

/** They answer before the mail is sent. */
const FAULTY: Record<string, Faulty> = {
  'forgets an await': { handle: (world) => void send(world) },
  'forgets the await of a quick call': { wait: () => {}, handle: (world) => void send(world) },
  'forgets an await after another call': {
    handle: (world) => world.db.insert('a').then(() => void send(world)),
  },
  'forgets the await of a chain': { handle: (world) => void world.db.insert('a').then(() => send(world)) },
  'awaits in a forEach': { handle: (world) => ['a'].forEach(async () => void (await send(world))) },
  'catches in place of awaiting': { handle: (world) => void send(world).catch(() => {}) },
  'leaves the work to queueMicrotask': { handle: (world) => queueMicrotask(() => void send(world)) },
  'leaves the work to setImmediate': { handle: (world) => void setImmediate(() => send(world)) },
  'leaves the work to setTimeout': { handle: (world) => void setTimeout(() => send(world), 20) },
  'leaves a synchronous call to a timer': {
    handle: ({ mailer }) => void setTimeout(() => mailer.sendNow('a')),
  },
  'leaves the work to waitUntil': { handle: (world, platform) => platform.waitUntil(send(world)) },
  'does the work in onDelivery': { onDelivery: send },
}

/** The interruptions after which there is not one mail, with the stories of those. */
async function wrong(faulty: Faulty, isStored = false, start = startOf(faulty)) {
  const prepare = () => Object.assign(makeWorld(faulty.wait), { store: isStored ? memoryStore() : undefined })
  const found: Record<string, string> = {}
  for (const { name, run, story } of await interruptions({ prepare, start, delivery })) {
    if ((await run()).mailer.count !== 1) found[name] = story()
  }
  return found
}

describe.each([false, true])('with a store in the world: %s, a handler is found that', (isStored) => {
  test.each(Object.entries(FAULTY))('%s', async (_, faulty) => {
    const [name = '', story = ''] =
      Object.entries(await wrong(faulty, isStored)).find(([found]) => found.includes('mailer')) ?? []
    expect(name).toMatch(/^dies before mailer\.send(Now)? /)
    // The sender has its answer, so there is no further attempt.
    expect(story).toMatch(
      /^attempt 1\n[\s\S]*answered 200 .*\n( {2}\d.*\n)* {2}the process dies before mailer\.send(Now)?$/,
    )
  })

  test('no handler that awaits is', async () => {
    expect(await wrong({ handle: send }, isStored)).toEqual({})
  })
})

test('of two calls at the same time, each may have had its effect alone', async () => {
  const rows: Record<string, number> = {}
  const handle = (world: World) => Promise.all([send(world), world.db.insert('a')])
  const all = await interruptions({ prepare: () => makeWorld(), start: startOf({ handle }), delivery })
  for (const { name, run } of all) {
    const world = await run()
    rows[name] = world.rows.length
    expect(world.mailer.count, name).toBe(1)
  }
  expect(rows).toEqual({
    // The row of the process that died is there, and its mail is not.
    'dies before mailer.send (call 1)': 2,
    'dies after mailer.send (call 1)': 2,
    'dies before db.insert (call 2)': 1,
    'dies after db.insert (call 2)': 2,
  })
})

test.each([false, true])(
  'a handler may outlive its answer; with a store in the world: %s',
  async (isStored) => {
    const wait = () => new Promise((resolve) => setTimeout(resolve, 60))
    const handle = async (world: World) => {
      await wait()
      await send(world)
    }
    expect(await wrong({ wait }, isStored, startOf({ handle }, 0.02))).toEqual({})
  },
)

test('behind a server, a process that dies while its answer is on the way has answered', async () => {
  const start: InterruptionOptions<World>['start'] = async (world, { now }) => {
    const on = { 'order.created': () => void send(world) }
    const server = createServer(listener({ secret, now, on, onError: () => {} }))
    await new Promise<void>((resolve) => server.listen(0, resolve))
    const url = `http://localhost:${(server.address() as AddressInfo).port}`
    return {
      send: (delivery: SignedDelivery) => fetch(url, delivery),
      close() {
        server.closeAllConnections()
        server.close()
      },
    }
  }
  expect(Object.keys(await wrong({}, false, start))).toEqual(['dies before mailer.send (call 1)'])
})
