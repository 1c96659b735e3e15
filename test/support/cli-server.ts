import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

/** Serves on a free port, or on this one, until the test ends. */
export async function listening(handle: RequestListener, port = 0): Promise<{ url: string }> {
  const server = createServer(handle)
  await new Promise<void>((resolve) => {
    server.listen(port, '127.0.0.1', resolve)
  })
  onTestFinished(
    () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  )
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks` }
}
