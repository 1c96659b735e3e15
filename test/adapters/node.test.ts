import { once } from 'node:events'
import { createServer } from 'node:http'
import { PassThrough, Readable } from 'node:stream'
import fc from 'fast-check'
import type { Outcome } from 'tix-webhooks'
import { sendAnswer, streamBody, tixWebhooks } from 'tix-webhooks/node'
import { describe, expect, onTestFinished, test } from 'vitest'
import { orderCreated, sign } from '../support/deliveries.js'
import { listen, post } from '../support/http.js'
import { heldBeyond, usedMemory } from '../support/memory.js'
import { turns } from '../support/promises.js'
import { harnessOf, rawBytesCases } from '../support/raw-bytes-cases.js'
import { assertAnswer, deliver } from '../support/raw-bytes-harness.js'
import { watched } from '../support/watched.js'

const harness = harnessOf((options) => listen(createServer(tixWebhooks(options))))

describe('exact bytes over node:http', { tags: ['slow'] }, () => {
  for (const { name, run } of rawBytesCases) test(name, () => run(harness))
})

test("in Next's pages router, a body that was parsed says what the file needs: it cannot be mounted earlier", async () => {
  const { options, reports } = watched({})
  const hooks = tixWebhooks(options)
  const { port, close } = await listen((request, response) => {
    // As Next 16 marks its requests.
    Object.assign(request, { [Symbol.for('NextInternalRequestMeta')]: {} })
    request.resume().on('end', () => void hooks(request, response))
  })
  onTestFinished(close)
  assertAnswer(await deliver(port, await sign(orderCreated())), 500, 'misconfigured')
  expect(String(reports[0])).toMatch(/already read.*export const config = \{ api: \{ bodyParser: false \} \}/)
})

const failed: Outcome = { outcome: 'failed', code: 'handler_failed' }

test('sendAnswer does nothing if other code has begun to answer', async () => {
  const { port, close } = await listen((_request, response) => {
    response.writeHead(202).write('begun, ')
    sendAnswer(response, failed)
    response.end('ended')
  })
  onTestFinished(close)
  expect(await post(port)).toMatchObject({ status: 202, text: 'begun, ended' })
})

const LIMIT = 1000
const MIB = 1_048_576

/** A stream that the test controls. */
function openStream(headers?: Record<string, string>): PassThrough {
  return Object.assign(new PassThrough(), headers === undefined ? {} : { headers })
}

describe('streamBody', () => {
  test('gives the bytes of any stream, up to maxBytes and not one more, however they are cut', async () => {
    const cut = fc.array(fc.uint8Array({ minLength: 1, maxLength: 50 }), { minLength: 1, maxLength: 20 })
    await fc.assert(
      fc.asyncProperty(cut, fc.integer({ min: -2, max: 2 }), async (chunks, more) => {
        const whole = Buffer.concat(chunks)
        const reading = streamBody(Readable.from(chunks, { objectMode: false }))(whole.length + more)
        if (more < 0) await expect(reading).rejects.toMatchObject({ code: 'too_large' })
        else expect(Buffer.from(await reading)).toEqual(whole)
      }),
    )
  })

  test('takes strings as their UTF-8 bytes, and counts the bytes', async () => {
    expect(Buffer.from(await streamBody(Readable.from(['Zoë, ', '東京']))(12)).toString()).toBe('Zoë, 東京')
    await expect(streamBody(Readable.from(['Zoë, ', '東京']))(11)).rejects.toMatchObject({
      code: 'too_large',
    })
  })

  test.each(['latin1', 'base64', 'utf16le'] as const)(
    'gives the bytes of a stream that was set to %s',
    async (encoding) => {
      const sent = Uint8Array.from({ length: 256 }, (_, i) => i)
      const stream = Readable.from([sent.subarray(0, 100), sent.subarray(100)], { objectMode: false })
      stream.setEncoding(encoding)
      expect(Buffer.from(await streamBody(stream)(LIMIT)).toString('hex')).toBe(
        Buffer.from(sent).toString('hex'),
      )
    },
  )

  test('reads a stream that was paused before', async () => {
    const stream = openStream()
    stream.pause()
    const reading = streamBody(stream)(LIMIT)
    stream.end('late')
    await once(stream, 'end')
    expect(Buffer.from(await reading).toString()).toBe('late')
  })

  test.each([
    ['whole', { maxMib: 8, isEnded: true, isCancelled: false }, 8],
    ['in part, when the rest is too large', { maxMib: 7, isEnded: false, isCancelled: false }, 0],
    ['in part, when it is given up', { maxMib: 9, isEnded: false, isCancelled: true }, 0],
  ])(
    'keeps nothing but the result of a body that was read %s',
    { tags: ['slow'] },
    async (_, how, keptMib) => {
      const stream = openStream()
      const before = usedMemory()
      const reader = streamBody(stream)
      let bytes: Uint8Array | undefined
      reader(how.maxMib * MIB).then(
        (result) => {
          bytes = result
        },
        () => {},
      )
      for (let i = 0; i < 8; i++) stream.write(Buffer.alloc(MIB))
      if (how.isEnded) stream.end()
      await turns(10)
      if (how.isCancelled) reader.cancel?.()
      const limit = (keptMib + 2) * MIB
      expect(await heldBeyond(before, limit)).toBeLessThan(limit)
      expect([bytes?.length ?? 0, stream.listenerCount('error')]).toEqual([keptMib * MIB, 1])
    },
  )

  test.each([
    ['without an error', undefined],
    ['with an error', new Error('ECONNRESET')],
  ])('a stream that was destroyed before, %s, is an incomplete body', async (_, cause) => {
    const stream = openStream()
    stream.on('error', () => {})
    stream.destroy(cause)
    await new Promise((resolve) => stream.on('close', resolve))
    await expect(streamBody(stream)(LIMIT)).rejects.toMatchObject({ code: 'body_incomplete' })
  })

  test.each<[string, (stream: PassThrough) => Promise<unknown>]>([
    ['was read to its end', (stream) => stream.end('all').toArray()],
    ['was empty and has ended', (stream) => once(stream.end().resume(), 'end')],
  ])('a stream that %s is misconfigured, and the message says what to do', async (_, use) => {
    const stream = openStream()
    await use(stream)
    await expect(streamBody(stream)(LIMIT)).rejects.toMatchObject({
      code: 'misconfigured',
      message: expect.stringMatching(
        /already read.*Mount the webhook route before anything that reads the body\.$/,
      ),
    })
    await expect(streamBody(stream, { advice: 'Turn it off.' })(LIMIT)).rejects.toThrow(
      /cannot be checked\. Turn it off\.$/,
    )
  })

  test('an error that comes after the body, or after a refusal, does not crash the process', async () => {
    const read = openStream()
    const reading = streamBody(read)(LIMIT)
    read.end('all')
    await reading
    read.emit('error', new Error('late'))

    const refused = openStream()
    const refusal = streamBody(refused)(LIMIT)
    refused.write(new Uint8Array(LIMIT + 1))
    await expect(refusal).rejects.toMatchObject({ code: 'too_large' })
    refused.emit('error', new Error('late'))
  })

  test.each<[string, (stream: PassThrough, cancel: () => void) => void]>([
    ['it was read', (stream) => stream.end('all')],
    ['it was refused', (stream) => stream.write(new Uint8Array(LIMIT + 1))],
    ['it has failed', (stream) => stream.destroy(new Error('ECONNRESET'))],
    ['it was cancelled', (_, cancel) => cancel()],
  ])('lets go of the stream when %s', async (_, end) => {
    const stream = openStream()
    const before = ['data', 'end', 'close'].map((name) => stream.listenerCount(name))
    const read = streamBody(stream)
    const settled = Promise.race([read(LIMIT).catch(() => {}), once(stream, 'cancelled')])
    end(stream, () => {
      read.cancel?.()
      stream.emit('cancelled')
    })
    await settled
    expect(['data', 'end', 'close'].map((name) => stream.listenerCount(name))).toEqual(before)
  })
})
