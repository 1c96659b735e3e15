/** @module-tag slow */
import { memoryStore } from 'tix-webhooks'
import { tixWebhooks } from 'tix-webhooks/fetch'
import {
  type Interruption,
  type InterruptionOptions,
  interruptions,
  type SignedDelivery,
  signedDelivery,
} from 'tix-webhooks/testing'
import { expect, test } from 'vitest'

const secret = 'whsec_test'
const delivery = await signedDelivery('order.created', { secret })

/** A mail server that sends a mail again only if it has another key, or none. */
function makeMailer() {
  const keys = new Set<string>()
  const sent: string[] = []
  return {
    sent,
    async send(to: string, key?: string | null) {
      await Promise.resolve()
      if (key && keys.has(key)) return
      if (key) keys.add(key)
      sent.push(to)
    },
  }
}

const prepare = () => ({
  store: memoryStore(),
  tickets: new Map<string, string>(),
  mailer: makeMailer(),
})
type World = ReturnType<typeof prepare>

type Handler = (
  world: World,
  data: SignedDelivery<{ data: { order: { id: string; buyer_email: string } } }>['event']['data'],
  key: string | null,
) => unknown

/** Starts a receiver on the store of the world. */
const started =
  (handle: Handler): InterruptionOptions<World>['start'] =>
  (world, { now }) =>
    tixWebhooks({
      secret,
      now,
      store: world.store,
      namespace: 'orders',
      on: { 'order.created': async (event, ctx) => void (await handle(world, event.data, ctx.key)) },
      onError: () => {},
    })

const typical: Handler = async ({ tickets, mailer }, { order }) => {
  tickets.set(order.id, 'A1')
  await mailer.send(order.buyer_email)
}

/** The number of mails after each interruption. */
async function mailsAfter(all: readonly Interruption<World>[]): Promise<Record<string, number>> {
  const mails: Record<string, number> = {}
  for (const { name, run } of all) mails[name] = (await run()).mailer.sent.length
  return mails
}

test('a typical handler sends two mails if it dies after the mail and before its record', async () => {
  const all = await interruptions({ prepare, start: started(typical), delivery })
  expect(await mailsAfter(all)).toEqual({
    'dies before store.claim (call 1)': 1,
    'dies after store.claim (call 1)': 1,
    'dies before tickets.set (call 2)': 1,
    'dies after tickets.set (call 2)': 1,
    'dies before mailer.send (call 3)': 1,
    'dies after mailer.send (call 3)': 2,
    'dies before store.complete (call 4)': 2,
    'dies after store.complete (call 4)': 1,
  })
})

test('a call may reject instead, without its effect or after it', async () => {
  const all = await interruptions({ prepare, start: started(typical), delivery, also: 'rejects' })
  const rejecting = all.filter(({ name }) => name.startsWith('rejects'))
  expect(await mailsAfter(rejecting)).toEqual({
    'rejects without effect: mailer.send (call 3)': 1,
    'rejects after its effect: mailer.send (call 3)': 2,
  })
})

test('the story of a run has its attempts, calls, interruption and answers', async () => {
  const all = await interruptions({ prepare, start: started(typical), delivery })
  const after = all.find(({ name }) => name.startsWith('dies after mailer.send'))
  expect(after?.story()).toBe('')
  await after?.run()
  expect(after?.story()).toBe(
    [
      'attempt 1',
      '  process 1 starts',
      '  1. store.claim',
      '  2. tickets.set',
      '  3. mailer.send',
      '  the process dies after mailer.send',
      'attempt 2, after 5 s',
      '  process 2 starts',
      '  1. store.claim',
      '  answered 503 {"outcome":"in_flight"}',
      'attempt 3, after 60 s',
      '  2. store.claim',
      '  3. tickets.set',
      '  4. mailer.send',
      '  5. store.complete',
      '  answered 200 {"outcome":"handled"}',
    ].join('\n'),
  )
})

test('deliveries are delivered one after the other, and may be made of the world', async () => {
  const handle: Handler = ({ mailer }, { order }, key) => mailer.send(order.id, key)
  const all = await interruptions({
    prepare,
    start: started(handle),
    delivery: async ({ mailer }) => {
      expect(mailer.sent).toEqual([])
      return Promise.all(
        ['ord_1', 'ord_2'].map((id) => signedDelivery('order.created', { secret, data: { order: { id } } })),
      )
    },
  })
  expect(all).toHaveLength(12)
  for (const { run } of all) expect((await run()).mailer.sent).toEqual(['ord_1', 'ord_2'])
})

test('any framework is a process by its send, and its close is called at its end', async () => {
  const closed: string[] = []
  const all = await interruptions({
    prepare: () => ({
      ...prepare(),
      connect: async (name: string) => ({ name, end: async () => void closed.push(name) }),
    }),
    start: async (world, context) => {
      const connection = await world.connect('a')
      const POST = started(typical)(world, context) as (request: Request) => Promise<Response>
      return {
        send: async ({ toRequest }) => {
          const { status } = await POST(toRequest('/hooks'))
          return { statusCode: status }
        },
        close: () => connection.end(),
      }
    },
    delivery,
  })
  closed.length = 0
  await all.find(({ name }) => name.startsWith('dies after tickets.set'))?.run()
  expect(closed).toEqual(['a', 'a'])
})

test('a handler that gets no 2xx after an interruption rejects with the story', async () => {
  const start = started(({ tickets, mailer }) => {
    if (tickets.has('x')) throw new Error('already there')
    tickets.set('x', 'A1')
    return mailer.send('a')
  })
  const all = await interruptions({ prepare, start, delivery })
  const after = all.find(({ name }) => name === 'dies after tickets.set (call 3)')
  await expect(after?.run()).rejects.toThrow(
    /^dies after tickets\.set \(call 3\): the delivery was not answered 2xx[\s\S]*process 2 starts[\s\S]*answered 500 \{"outcome":"failed"\}/,
  )
})

test('a store that is not in the world keeps the claim of a dead process, and the error says what to do', async () => {
  let store = memoryStore()
  const all = await interruptions({
    prepare: () => {
      store = memoryStore()
      return prepare()
    },
    start: ({ mailer }, { now }) => {
      const on = { 'order.created': () => mailer.send('a') }
      return tixWebhooks({ secret, now, store, namespace: 'shop', on })
    },
    delivery,
  })
  await expect(all[0]?.run()).rejects.toThrow(
    /^dies before mailer\.send \(call 1\): .*It was still in_flight: .* Make the store in prepare and return it in the world/,
  )
})

test('a handler that does not make the call again rejects, because nothing was tested', async () => {
  let runs = 0
  const start = started(({ mailer, tickets }) => (runs++ === 0 ? mailer.send('a') : tickets.set('x', 'y')))
  const all = await interruptions({ prepare, start, delivery })
  await expect(all.find(({ name }) => name.includes('mailer'))?.run()).rejects.toThrow(
    'the process did not make this call this time',
  )
})

test('a first run that calls nothing of the world is an error', async () => {
  const start = started(() => makeMailer().send('a'))
  await expect(interruptions({ prepare, start, delivery })).rejects.toThrow(
    'The handler called nothing in the world but its store, so there is nothing to interrupt',
  )
})

test('a world that nobody sees is disposed of, one that is returned is not', async () => {
  const disposed: number[] = []
  let made = 0
  const disposable = () => {
    const id = made++
    return { ...prepare(), [Symbol.asyncDispose]: async () => void disposed.push(id) }
  }
  const [first] = await interruptions({ prepare: disposable, start: started(typical), delivery })
  expect(disposed).toEqual([0])
  await first?.run()
  expect(disposed).toEqual([0])
})

test.each<[object, string]>([
  [{ prepare: undefined }, 'prepare must be a function, not undefined'],
  [{ start: {} }, 'start must be a function, not an object'],
  [{ also: 'fails' }, 'also must be "rejects", or left out, not "fails"'],
  [{ deliveries: [] }, 'deliveries'],
  [{ delivery: undefined }, 'delivery must be made by signedDelivery'],
  [{ delivery: [] }, 'delivery must be made by signedDelivery'],
  [{ prepare: () => 1 }, 'prepare must return the world'],
  [{ start: () => ({}) }, 'start must return a fetch handler'],
])('%o is refused', async (wrong, message) => {
  const options = { prepare, start: started(typical), delivery, ...wrong } as never
  await expect(interruptions(options)).rejects.toThrow(message)
})
