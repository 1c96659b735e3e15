import fastify5 from 'fastify'
import fastify4 from 'fastify4'
import { onTestFinished } from 'vitest'
import type { SignedDelivery } from './deliveries.js'

/** Both majors under the types of the newer one: the parts that these tests use are the same. */
export const FASTIFY_VERSIONS = [
  { version: 5, fastify: fastify5 },
  { version: 4, fastify: fastify4 as unknown as typeof fastify5 },
] as const

/** The common part of all server apps. */
interface App {
  listen(options: { port: number; host: string }): Promise<string>
  close(): Promise<unknown>
}

/** Listens on a free port until the test ends. */
export async function listenTo(app: App): Promise<number> {
  onTestFinished(async () => void (await app.close()))
  return Number(new URL(await app.listen({ port: 0, host: '127.0.0.1' })).port)
}

/** A delivery in the form of `inject()`; headers that are `undefined` are left out. */
export function injected(
  { header, body }: SignedDelivery,
  headers: Record<string, string | undefined> = {},
  url = '/hooks',
) {
  const all = { 'content-type': 'application/json', 'x-service-signature': header, ...headers }
  const given = Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined)
  return { method: 'POST', url, headers: Object.fromEntries(given), payload: Buffer.from(body) } as const
}
