import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { HOST } from '../contestants.js'

/** Resolves to the port. */
export async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, HOST, resolve))
  return (server.address() as AddressInfo).port
}
