import { connect as open } from 'node:net'
import { HOST } from './contestants.js'

/** A keep-alive connection with one request at a time. */
export interface Connection {
  /** Sends a whole request and calls back with the status, and all that was received, when the whole answer has arrived. */
  send(request: Buffer, onAnswer: (status: number, response: string) => void): void
  close(): void
}

/** The status recorded if the server closes the connection. */
const CLOSED = 0

/** A minimal HTTP client, so that the figures are the server's. */
export async function connect(port: number): Promise<Connection> {
  const socket = open({ port, host: HOST, noDelay: true })
  let received = ''
  let waiting: ((status: number, response: string) => void) | undefined
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve).once('error', reject)
  })

  function answer(status: number): void {
    const onAnswer = waiting
    const response = received
    waiting = undefined
    received = ''
    onAnswer?.(status, response)
  }
  socket.setEncoding('latin1')
  socket.on('data', (chunk: string) => {
    received += chunk
    if (isWhole(received)) answer(Number(received.slice(9, 12)))
  })
  socket.on('error', () => {})
  socket.on('close', () => answer(CLOSED))

  return {
    send(request, onAnswer) {
      waiting = onAnswer
      if (socket.destroyed) answer(CLOSED)
      else socket.write(request)
    },
    close: () => socket.destroy(),
  }
}

function isWhole(response: string): boolean {
  const end = response.indexOf('\r\n\r\n')
  if (end === -1) return false
  const head = response.slice(0, end)
  const length = /^content-length: (\d+)/im.exec(head)
  if (length !== null) return response.length >= end + 4 + Number(length[1])
  return !/^transfer-encoding: chunked/im.test(head) || response.endsWith('\r\n0\r\n\r\n')
}
