import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

/**
 * Finds a free loopback port.
 *
 * It is below the range of ports for outgoing connections: while a server is down, no client gets its port, or even connects to
 * itself on it, so that the server can restart there.
 */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const port = randomInt(20_000, 32_000)
    if (await isFree(port)) return port
  }
  throw new Error('Found no free loopback port between 20000 and 32000')
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}
