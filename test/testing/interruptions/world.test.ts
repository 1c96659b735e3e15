/** @module-tag slow */
import { EventEmitter } from 'node:events'
import Libsql from 'libsql'
import { interruptions, signedDelivery } from 'tix-webhooks/testing'
import { describe, expect, test, vi } from 'vitest'

const delivery = await signedDelivery('order.created', { secret: 'whsec_test' })
const ok = { status: 200 }

/** The interruptions of a process that does this in its first life, and in the next ones unless it is to be seen alone. */
async function allOf<World extends object>(
  makeWorld: () => World,
  act: (world: World) => unknown,
  isAlone = false,
) {
  let lives = 0
  return interruptions({
    prepare() {
      lives = 0
      return makeWorld()
    },
    start(world) {
      const isIdle = isAlone && lives++ > 0
      return {
        async send() {
          if (!isIdle) await act(world)
          return ok
        },
        close() {
          throw new Error('closed already')
        },
      }
    },
    delivery,
  })
}

/** Their names without their numbers; each is run. */
async function namesOf<World extends object>(
  makeWorld: () => World,
  act: (world: World) => unknown,
): Promise<string[]> {
  const all = await allOf(makeWorld, act)
  for (const { run } of all) await run()
  return [...new Set(all.map(({ name }) => name.replace(/^dies (before|after) | \(call \d+\)$/g, '')))]
}

/** Runs the interruption of this name, and returns the world. */
async function interrupted<World extends object>(
  name: string,
  makeWorld: () => World,
  act: (world: World) => unknown,
): Promise<World> {
  const all = await allOf(makeWorld, act, true)
  const found = all.find((one) => one.name === name)
  if (found === undefined) throw new Error(`There are ${all.map((one) => one.name).join(', ')}`)
  return found.run()
}

class Counter {
  #count = 0
  get count() {
    return this.#count
  }
  get self() {
    return this
  }
  add() {
    this.#count += 1
    return this.#count
  }
  async later() {
    await null
    return new Statement()
  }
  async *rows() {
    yield { id: 1 }
    yield { id: 2 }
  }
  each(act: (counter: Counter) => unknown) {
    return act(this)
  }
}

class Statement {
  #ran = 0
  run() {
    this.#ran += 1
    return this.#ran
  }
}

/** Sent when it is awaited. */
class Lazy {
  readonly sent: string[]
  readonly text: string
  constructor(sent: string[], text: string) {
    this.sent = sent
    this.text = text
  }
  // biome-ignore lint/suspicious/noThenProperty: it is what a lazy statement has.
  then(resolve: (value: unknown) => void) {
    this.sent.push(this.text)
    resolve([{ text: this.text }])
  }
}

const makeEverything = () => {
  const sent: string[] = []
  return {
    a: new Counter(),
    Counter,
    nested: { b: new Counter() },
    frozen: Object.freeze({ b: Object.freeze({ send: () => 1 }) }),
    bus: new EventEmitter(),
    list: [new Counter()],
    texts: ['a'],
    map: new Map([['a', { list: [1] }]]),
    sql: (text: string) => new Lazy(sent, text),
  }
}

test.each<[names: string[], act: (world: ReturnType<typeof makeEverything>) => unknown]>([
  [['nested.b.add'], ({ nested: { b } }) => b.self.add() + b.count],
  [['frozen.b.send'], ({ frozen }) => frozen.b.send()],
  [['new Counter', 'new Counter().add'], (world) => new world.Counter().add()],
  [['a.later', 'a.later().run'], async ({ a }) => (await a.later()).run()],
  [['a.each', 'a.add'], ({ a }) => a.each((counter) => (counter as Counter).self.add())],
  [
    ['a.rows', 'a.rows().next'],
    async ({ a }) => {
      for await (const row of a.rows()) expect(row.id).toBeGreaterThan(0)
    },
  ],
  [['sql', 'await sql()'], async ({ sql }) => expect(await sql('x')).toEqual([{ text: 'x' }])],
  // Not those of data that a call returns.
  [['map.get'], ({ map }) => map.get('a')?.list.map((one) => one + 1)],
  [
    ['bus.emit', 'bus.on().add', 'list().next().value.add'],
    ({ bus, list }) => {
      bus.on('made', (counter: Counter) => counter.add())
      bus.emit('made', new Counter())
      for (const counter of list) counter.add()
    },
  ],
  // Not those of listeners, descriptions and iterations.
  [
    ['bus.emit'],
    ({ bus, texts }) => {
      const listener = () => {}
      bus.on('x', listener).off('x', listener)
      expect([...texts]).toEqual(['a'])
      expect(String(bus)).toBe('[object Object]')
      bus.emit('x')
    },
  ],
])('calls are counted: %o', async (names, act) => {
  expect(await namesOf(makeEverything, act)).toEqual(names)
})

test('the members of the world look as they are', async () => {
  const names = await namesOf(
    () => ({
      a: new Counter(),
      list: [1, 2],
      date: new Date(0),
      send: Object.assign(() => 1, { default: 2 }),
    }),
    ({ a, list, date, send }) => {
      expect(a).toBeInstanceOf(Counter)
      expect(a.constructor).toBe(Counter)
      expect(a.self).toBe(a)
      expect(Array.isArray(list)).toBe(true)
      expect(list).toEqual([1, 2])
      expect(Object.keys(list)).toEqual(['0', '1'])
      expect(date.getTime()).toBe(0)
      expect(send.default).toBe(2)
      expect('add' in a).toBe(true)
      return send()
    },
  )
  expect(names).toEqual(['send'])
})

test('the world gets real objects and the functions that it was given before', async () => {
  const seen: unknown[] = []
  const a = new Counter()
  const makeWorld = () => ({
    a,
    bus: new EventEmitter(),
    take: (...given: unknown[]) => seen.push(...given),
  })
  const data = { id: 1 }
  await namesOf(makeWorld, (world) => {
    world.take(world.a, data, [world.a], Counter)
    const listener = () => {}
    world.bus.on('x', listener)
    world.bus.off('x', listener)
    expect(world.bus.listenerCount('x')).toBe(0)
  })
  expect(seen.slice(0, 4)).toEqual([a, data, [a], Counter])
  expect(seen[0]).toBe(a)
  expect(seen[1]).toBe(data)
  expect((seen[2] as unknown[])[0]).toBe(a)
})

test('errors of the world and of callbacks reach the process as they are', async () => {
  const error = new RangeError('full')
  await namesOf(
    () => ({
      fail: async () => {
        throw error
      },
      within: async (act: () => Promise<unknown>) => act(),
    }),
    async ({ fail, within }) => {
      expect(await fail().catch((caught: unknown) => caught)).toBe(error)
      expect(await within(() => Promise.reject(error)).catch((caught) => caught)).toBe(error)
    },
  )
})

describe('of a dead process', () => {
  const makeWorld = () => {
    const log: string[] = []
    return {
      log,
      note: async (text: string) => void log.push(text),
      noteNow: (text: string) => log.push(text),
      within: async (act: () => unknown) => {
        log.push('begin')
        try {
          await act()
          log.push('commit')
        } catch (error) {
          log.push(`rollback: ${(error as Error).name}`)
        }
      },
    }
  }
  type Noting = ReturnType<typeof makeWorld>

  test.each<[string, string, (world: Noting) => unknown, string[]]>([
    [
      'no later call is made',
      'dies after note (call 1)',
      async ({ note, noteNow }) => {
        const first = note('a')
        noteNow('at the same time')
        await first
        await note('b')
      },
      ['a', 'at the same time'],
    ],
    [
      'the call that it dies before is not made',
      'dies before note (call 2)',
      async ({ note }) => {
        await note('a')
        await note('b')
      },
      ['a'],
    ],
    [
      'a loop without a pause ends',
      'dies after noteNow (call 1)',
      ({ noteNow }) => {
        while (noteNow('a')) if (noteNow('b') === 2) return
      },
      ['a'],
    ],
    [
      'timers do not run',
      'dies after note (call 1)',
      async ({ note, noteNow }) => {
        setTimeout(() => noteNow('timer'), 0)
        setInterval(() => noteNow('interval'), 1)
        setImmediate(() => noteNow('immediate'))
        await note('a')
      },
      ['a'],
    ],
    [
      'a transaction by a callback is rolled back',
      'dies after note (call 2)',
      ({ within, note }) =>
        within(async () => {
          await note('a')
          await note('b')
        }),
      ['begin', 'a', 'rollback: ProcessDied'],
    ],
  ])('%s', async (_, name, act, log) => {
    const world = await interrupted(name, makeWorld, act)
    await new Promise((resolve) => setTimeout(resolve, 5))
    expect(world.log).toEqual(log)
  })

  test('nothing is printed', async () => {
    using info = vi.spyOn(console, 'info').mockImplementation(() => {})
    await interrupted('dies after noteNow (call 1)', makeWorld, ({ noteNow }) => {
      noteNow('a')
      console.info('dead')
    })
    // The first run.
    expect(info.mock.calls).toEqual([['dead']])
  })

  test.each(['destroy', 'release'])('a connection ends by its %s', async (way) => {
    const ended: unknown[] = []
    const connection = {
      query: async () => 1,
      release: (isBroken?: boolean) => ended.push(['release', isBroken]),
      ...(way === 'destroy' && { destroy: () => ended.push(['destroy']) }),
    }
    const pooled = () => ({ pool: { connect: async () => connection } })
    await interrupted('dies after pool.connect().query (call 2)', pooled, async ({ pool }) => {
      const client = await pool.connect()
      await client.query()
      client.release()
    })
    // The first is that of the first run.
    expect(ended).toEqual([['release', undefined], way === 'destroy' ? ['destroy'] : ['release', true]])
  })
})

test('a transaction by hand on a database that the processes share is rolled back', async () => {
  const all = await allOf(
    () => {
      const db = new Libsql(':memory:')
      db.exec('CREATE TABLE orders (id TEXT); CREATE TABLE tickets (id TEXT)')
      return { db }
    },
    async ({ db }) => {
      db.exec('BEGIN')
      db.prepare('INSERT INTO orders VALUES (?)').run('a')
      await Promise.resolve()
      db.prepare('INSERT INTO tickets VALUES (?)').run('a')
      db.exec('COMMIT')
    },
  )
  const counts: string[] = []
  for (const { run } of all) {
    const { db } = await run()
    const count = (table: string) => db.prepare(`SELECT id FROM ${table}`).all().length
    counts.push(`${count('orders')}${count('tickets')}`)
  }
  // After the COMMIT there is no record of it.
  expect(counts).toEqual([...Array(11).fill('11'), '22'])
})

test('nothing is sent to a world that has begun nothing, and the functions of the runtime are put back', async () => {
  const { setTimeout: before } = globalThis
  const { error } = console
  const sent: string[] = []
  await namesOf(
    () => ({ rpc: { exec: async (text: string) => void sent.push(text), prepare: () => {} } }),
    ({ rpc }) => rpc.exec('a'),
  )
  expect(new Set(sent)).toEqual(new Set(['a']))
  expect([globalThis.setTimeout, console.error]).toEqual([before, error])
})
