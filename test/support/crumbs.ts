import { connect } from 'node:net'
import { chunk, dial, LAST_CHUNK, requestHead } from './http.js'

const CONNECTION_PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'
const FRAME = { data: 0, headers: 1, settings: 4, windowUpdate: 8 } as const
const END_STREAM = 1
const END_HEADERS = 4
const FRAME_HEAD_BYTES = 9
const INITIAL_WINDOW = 65_535

/** Sends a body in chunks of one byte, each with its own length. Returns the text of the answer. */
export async function postInChunks(
  port: number,
  headers: Readonly<Record<string, string>>,
  body: Uint8Array,
): Promise<string> {
  const client = await dial(port)
  await client.write(requestHead({ ...headers, 'transfer-encoding': 'chunked' }))
  await client.write(eachIn(body, chunk(Uint8Array.of(0)), '1\r\n'.length))
  await client.write(LAST_CHUNK)
  const { text } = await client.answer()
  client.destroy()
  return text
}

/** Sends a body in frames of one byte, which Node's own client would join. Returns the text of the answer. */
export function postInFrames(
  port: number,
  headers: Readonly<Record<string, string>>,
  body: Uint8Array,
): Promise<string> {
  const pseudo = { ':method': 'POST', ':path': '/hooks', ':scheme': 'http', ':authority': 'localhost' }
  const one = frame(FRAME.data, 0, 1, Uint8Array.of(0))
  const frames = eachIn(body, one, FRAME_HEAD_BYTES)
  const windows = [INITIAL_WINDOW, INITIAL_WINDOW]
  let sent = 0
  let received: Buffer = Buffer.alloc(0)
  let text = ''
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1' })
    const sendMore = (): void => {
      const end = sent + Math.min(...windows, body.length - sent)
      if (end === sent) return
      for (const id of windows.keys()) windows[id] = Number(windows[id]) - (end - sent)
      socket.write(frames.subarray(sent * one.length, end * one.length))
      sent = end
      if (sent === body.length) socket.write(frame(FRAME.data, END_STREAM, 1))
    }
    socket.on('error', reject)
    socket.on('close', () => reject(new Error('The connection was closed without an answer.')))
    socket.on('data', (data) => {
      received = Buffer.concat([received, data])
      while (received.length >= FRAME_HEAD_BYTES) {
        const length = received.readUIntBE(0, 3)
        if (received.length < FRAME_HEAD_BYTES + length) break
        const [type, flags] = [received.readUInt8(3), received.readUInt8(4)]
        const id = received.readUInt32BE(5)
        const payload = received.subarray(FRAME_HEAD_BYTES, FRAME_HEAD_BYTES + length)
        received = received.subarray(FRAME_HEAD_BYTES + length)
        if (type === FRAME.windowUpdate) windows[id] = Number(windows[id]) + payload.readUInt32BE(0)
        if (type === FRAME.data) text += payload
        if (type <= FRAME.headers && (flags & END_STREAM) !== 0) {
          resolve(text)
          socket.destroy()
        }
      }
      sendMore()
    })
    socket.write(CONNECTION_PREFACE)
    socket.write(frame(FRAME.settings, 0, 0))
    socket.write(frame(FRAME.headers, END_HEADERS, 1, headerBlock({ ...pseudo, ...headers })))
    sendMore()
  })
}

/** Each byte in a wrapping of its own, in which it has this place. */
function eachIn(body: Uint8Array, wrapping: Uint8Array, place: number): Buffer {
  const wrapped = Buffer.alloc(body.length * wrapping.length, wrapping)
  for (const [index, byte] of body.entries()) wrapped[index * wrapping.length + place] = byte
  return wrapped
}

function frame(type: number, flags: number, stream: number, payload: Uint8Array = new Uint8Array()): Buffer {
  const head = Buffer.alloc(FRAME_HEAD_BYTES)
  head.writeUIntBE(payload.length, 0, 3)
  head.writeUInt8(type, 3)
  head.writeUInt8(flags, 4)
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, payload])
}

/** Each header as a literal that is not indexed; its value is shorter than 127 bytes. */
function headerBlock(headers: Readonly<Record<string, string>>): Buffer {
  const text = (value: string): Buffer => Buffer.from([value.length, ...Buffer.from(value)])
  return Buffer.concat(
    Object.entries(headers).flatMap(([name, value]) => [Buffer.from([0]), text(name), text(value)]),
  )
}
