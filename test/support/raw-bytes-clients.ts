import assert from 'node:assert/strict'
import { orderCreated, type SignedDelivery, sign } from './deliveries.js'
import { chunk, dial, LAST_CHUNK, requestHead } from './http.js'
import { deferred } from './promises.js'
import {
  assertAnswer,
  assertEnd,
  assertServes,
  deliver,
  jsonHeaders,
  onApp,
  type RawBytesCase,
} from './raw-bytes-harness.js'

const DECLARED = 'with its length declared'
const CHUNKED = 'chunked'

/** The head of a delivery, and its body as sent over the wire, split in two. */
function halves({ header, body }: SignedDelivery, how: string, extra: Record<string, string> = {}) {
  const middle = Math.floor(body.length / 2)
  const parts = [body.subarray(0, middle), body.subarray(middle)] as const
  const isChunked = how === CHUNKED
  const framing = isChunked ? { 'transfer-encoding': 'chunked' } : { 'content-length': body.length }
  return {
    head: requestHead({ ...jsonHeaders(header), ...framing, ...extra }),
    first: isChunked ? chunk(parts[0]) : parts[0],
    second: isChunked ? Buffer.concat([chunk(parts[1]), Buffer.from(LAST_CHUNK)]) : parts[1],
  }
}

/** Clients that are slow or disconnect. */
export const clientCases: readonly RawBytesCase[] = [
  ...[DECLARED, CHUNKED].flatMap((how) => [
    onApp(`a body that comes in two parts, ${how}, is handled when the second is there`, {}, async (app) => {
      const client = await dial(app.port)
      const { head, first, second } = halves(await sign(orderCreated()), how, { expect: '100-continue' })
      await client.write(head)
      await client.continued()
      await client.write(first)
      await client.write(second)
      assertAnswer(await client.answer(), 200, 'handled')
      assertEnd(app, 'handled')
      client.destroy()
    }),

    onApp(
      `a client that goes away in the middle of its body, ${how}, is recorded as incomplete`,
      {},
      async (app) => {
        const delivery = await sign(orderCreated())
        const client = await dial(app.port)
        const { head, first } = halves(delivery, how, { expect: '100-continue' })
        await client.write(head)
        await client.continued()
        await client.write(first)
        client.destroy()
        await app.recorded(1)
        assertEnd(app, 'incomplete', 'body_incomplete')
        assert.match(app.reports.join(), /client went away/)
        await assertServes(app, delivery)
      },
    ),

    onApp(
      `a client that stops sending, ${how}, is answered at the deadline and cut off`,
      { timeoutSeconds: 0.3 },
      async (app) => {
        const delivery = await sign(orderCreated())
        const client = await dial(app.port)
        const { head, first } = halves(delivery, how)
        await client.write(head)
        await client.write(first)
        const answer = await client.answer()
        assertAnswer(answer, 400, 'incomplete')
        assert.equal(answer.headers.connection, 'close')
        await client.closed
        assertEnd(app, 'incomplete', 'body_incomplete')
        assert.match(app.reports.join(), /too slow.*timeoutSeconds/)
        await assertServes(app, delivery)
      },
    ),
  ]),

  onApp(
    'a client that keeps sending a byte at a time is answered at the deadline and cut off',
    { timeoutSeconds: 0.3 },
    async (app) => {
      const delivery = await sign(orderCreated())
      const client = await dial(app.port)
      await client.write(
        requestHead({ ...jsonHeaders(delivery.header), 'content-length': delivery.body.length }),
      )
      let at = 0
      const trickle = setInterval(() => {
        void client.write(delivery.body.subarray(at, at + 1))
        at += 1
      }, 25)
      try {
        assertAnswer(await client.answer(), 400, 'incomplete')
        await client.closed
      } finally {
        clearInterval(trickle)
      }
      assertEnd(app, 'incomplete', 'body_incomplete')
      await assertServes(app, delivery)
    },
  ),

  onApp('a client whose header is malformed is answered before it has sent its body', {}, async (app) => {
    const client = await dial(app.port)
    await client.write(halves({ header: 'nonsense', body: new Uint8Array(100) }, DECLARED).head)
    assertAnswer(await client.answer(), 400, 'malformed')
    assertEnd(app, 'malformed', 'header_malformed')
    client.destroy()
  }),

  {
    name: 'a client that goes away while the handler runs costs nothing: the run counts, and the retry is a duplicate',
    async run(harness) {
      const delivery = await sign(orderCreated())
      const started = deferred()
      const finish = deferred()
      const handle = (): Promise<void> => {
        started.resolve()
        return finish.promise
      }
      const app = await harness.mount({ on: { 'order.created': handle } })
      try {
        const client = await dial(app.port)
        const { head, first, second } = halves(delivery, DECLARED)
        await client.write(head)
        await client.write(first)
        await client.write(second)
        await started.promise
        client.destroy()
        await client.closed
        finish.resolve()
        await app.recorded(1)
        assert.deepEqual(
          app.records.map(({ outcome }) => outcome),
          ['handled'],
        )
        assertAnswer(await deliver(app.port, delivery), 200, 'duplicate')
      } finally {
        await app.close()
      }
    },
  },
]
