import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import type { Case } from './case.js'
import { type Client, eventually, order } from './client.js'

/** Clients that do not send all that they have announced. */
export const brokenClientCases: readonly Case[] = [
  {
    name: 'a client that stops sending: 400 at the deadline',
    unless: 'waitsForBody',
    async run(client) {
      const socket = await sendHalf(client, 'hasty')
      let text = ''
      socket.setEncoding('utf8').on('data', (part) => {
        text += part
      })
      await eventually('an answer', async () => text.includes('}') || socket.closed)
      socket.destroy()
      assert.match(text, /^HTTP\/1\.1 400 [\s\S]*\{"outcome":"incomplete"\}/)
      await recorded(client, 'hasty')
    },
  },
  {
    name: 'a client that disconnects: incomplete',
    unless: 'readsFirst',
    async run(client) {
      const socket = await sendHalf(client, 'vanishing')
      // The server must have the first half, or it never sees a request.
      setTimeout(() => socket.destroy(), 200)
      await recorded(client, 'vanishing')
    },
  },
]

async function sendHalf({ port, hooks }: Client, endpoint: string): Promise<Socket> {
  const { body, headers } = (await order()).delivery
  const lines = Object.entries({ host: 'localhost', ...headers, 'content-length': String(body.length) })
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  socket.write(`POST ${hooks}${endpoint} HTTP/1.1\r\n${head}\r\n${body.slice(0, body.length / 2)}`)
  return socket
}

function recorded(client: Client, endpoint: string): Promise<true | undefined> {
  return eventually(`an incomplete delivery of ${endpoint}`, async () => {
    const { records } = await client.log()
    return records.some((one) => one.endpoint === endpoint && one.outcome === 'incomplete')
  })
}
