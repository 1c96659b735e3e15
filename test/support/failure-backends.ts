import { type KeptFailures, memoryFailures } from 'tix-webhooks'
import type { FailureHarness } from 'tix-webhooks/testing'
import { describe } from 'vitest'
import { SQLITE_FAILURES } from './sqlite-failures.js'
import { someTurns } from './store-backend.js'

/** A fresh backend on a server of the run, and how to close it. */
export interface FailureBackend extends Required<FailureHarness> {
  create(): Promise<KeptFailures>
  close(): Promise<void>
}

/** Failures over one client library: `describe` if it is available, and a fresh backend. */
export interface FailureKind {
  readonly name: string
  readonly describe: typeof describe | ReturnType<typeof describe.skipIf>
  open(): Promise<FailureBackend>
}

async function openMemory(): Promise<FailureBackend> {
  const failures = memoryFailures()
  const create = async (): Promise<KeptFailures> => delayed(failures)
  return { create, createSecond: create, purge: (options) => failures.purge(options), close: async () => {} }
}

/** The same failures, with calls and answers that take a while to arrive, as over a network. */
function delayed(failures: KeptFailures): KeptFailures {
  async function deliver<T>(send: () => Promise<T>): Promise<T> {
    await someTurns()
    const answer = await send()
    await someTurns()
    return answer
  }
  return {
    keep: (failed) => deliver(() => failures.keep(failed)),
    get: (key) => deliver(() => failures.get(key)),
    delete: (key) => deliver(() => failures.delete(key)),
    list: (query) => deliver(() => failures.list(query)),
    groups: (query) => deliver(() => failures.groups(query)),
    count: (filter) => deliver(() => failures.count(filter)),
    purge: (options) => deliver(() => failures.purge(options)),
  }
}

/** All failures of ours, over each client library. */
export const FAILURE_KINDS: readonly FailureKind[] = [
  { name: 'memoryFailures', describe, open: openMemory },
  ...SQLITE_FAILURES,
]
