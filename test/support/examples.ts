import { afterEach, beforeEach, vi } from 'vitest'
import { SECRET, type SignedDelivery, sign } from './deliveries.js'
import type { TestDatabase } from './postgres-database.js'
import { deliver } from './raw-bytes-harness.js'

/** Sets what each example reads of its environment, and returns what it prints: a line for each event. */
export function exampleEnvironment(): string[] {
  const printed: string[] = []
  beforeEach(() => {
    printed.length = 0
    vi.stubEnv('TIX_SIGNING_SECRET', SECRET)
    vi.stubEnv('PORT', '0')
    for (const method of ['info', 'warn', 'error'] as const) {
      vi.spyOn(console, method).mockImplementation((line: unknown) => void printed.push(String(line)))
    }
  })
  afterEach(() => {
    vi.unstubAllEnvs()
    vi.restoreAllMocks()
  })
  return printed
}

/** The answers of `post`. */
export const HANDLED = [200, { outcome: 'handled' }]
export const DUPLICATE = [200, { outcome: 'duplicate' }]
export const FAILED = [500, { outcome: 'failed' }]

/** The URL of a database with the schema of a test. */
export function schemaUrl(database: TestDatabase): string {
  const url = new URL(database.url)
  url.searchParams.set('options', database.settings())
  return url.href
}

/** Signs an event and delivers it; returns the status and the body. */
export async function post(port: number, payload: object, path = '/hooks'): Promise<[number, unknown]> {
  const { status, text } = await deliver(port, await sign(payload), { path })
  return [status, JSON.parse(text)]
}

/** A delivery that has one byte more than was signed. */
export function changed({ header, body }: SignedDelivery): SignedDelivery {
  return { header, body: Buffer.concat([body, Buffer.from(' ')]) }
}
