import { memoryStore } from 'tix-webhooks'
import { type AdapterHarness, adapterCases, type StoreHarness, storeCases } from 'tix-webhooks/testing'
import type { Conformance } from './contract.js'

/** Runs the cases that every adapter must pass, in this runtime. */
export function runAdapterCases(harness: AdapterHarness): Promise<Conformance> {
  // The machine may be busy with other lanes.
  return runAll(adapterCases, { timeoutSeconds: 30, ...harness })
}

/** Runs the cases that every store must pass, in this runtime. */
export function runStoreCases(harness: StoreHarness): Promise<Conformance> {
  return runAll(storeCases, harness)
}

/** A memory store whose time the cases advance. */
export function memoryHarness(): StoreHarness {
  let now = 0
  return {
    create: async () => memoryStore({ now: () => now }),
    advance: async (ms) => {
      now += ms
    },
  }
}

interface Case<Harness> {
  readonly id: string
  run(harness: Harness): Promise<void>
}

async function runAll<Harness>(cases: readonly Case<Harness>[], harness: Harness): Promise<Conformance> {
  const failures: { id: string; message: string }[] = []
  for (const one of cases) {
    await one.run(harness).catch((error: unknown) => {
      failures.push({ id: one.id, message: error instanceof Error ? error.message : String(error) })
    })
  }
  return { passed: cases.length - failures.length, failures }
}
