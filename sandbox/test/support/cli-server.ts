import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

/** Serves on a free port, or on this one, until the test ends. */
export async function listening(
  handle: RequestListener,
  port = 0,
  host = '127.0.0.1',
): Promise<{ url: string }> {
  const server = createServer(handle)
  await new Promise<void>((resolve) => {
    server.listen(port, host, resolve)
  })
  onTestFinished(
    () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  )
  const name = host === '127.0.0.1' ? host : 'localhost'
  return { url: `http://${name}:${(server.address() as AddressInfo).port}/hooks` }
}
