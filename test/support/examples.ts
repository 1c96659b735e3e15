import { join } from 'node:path'
import { isMainThread } from 'node:worker_threads'
import { afterAll, afterEach, beforeAll, beforeEach, vi } from 'vitest'
import { SECRET, type SignedDelivery, sign } from './deliveries.js'
import type { TestDatabase } from './postgres-database.js'
import { deliver } from './raw-bytes-harness.js'
import { ROOT } from './root.js'
import { makeFolder, removeFolder } from './server-process.js'

/** Runs the tests of a file in a folder of their own, because an example may write a file, such as a database, where it is started. */
export function inOwnFolder(): () => string {
  let folder = ''
  beforeAll(async () => {
    folder = await makeFolder()
    // A thread has no working folder of its own.
    if (isMainThread) process.chdir(folder)
  })
  afterAll(async () => {
    if (isMainThread) process.chdir(ROOT)
    await removeFolder(folder)
  })
  return () => folder
}

/** Sets what each example reads of its environment and the folder that it writes to; returns what it prints: a line for each event. */
export function exampleEnvironment(): string[] {
  const printed: string[] = []
  const folder = inOwnFolder()
  beforeEach(() => {
    printed.length = 0
    vi.stubEnv('TIX_SIGNING_SECRET', SECRET)
    vi.stubEnv('PORT', '0')
    vi.stubEnv('DATABASE_FILE', join(folder(), 'app.db'))
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
